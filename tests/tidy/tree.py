# SPDX-License-Identifier: Apache-2.0
"""The files of a source tree, and their text in parts: code, comments, string literals."""

import os
import re
from pathlib import Path

_SKIPPED_FOLDERS = {".git", "subprojects", "__pycache__", ".pytest_cache"}
_LITERAL_OR_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)


def files(root, *suffixes):
    """The files of the tree with one of these suffixes (all without any), build folders left out."""
    for folder, folders, names in os.walk(root):
        inside = Path(folder).relative_to(root)
        folders[:] = sorted(f for f in folders if f not in _SKIPPED_FOLDERS
                            and not (inside == Path(".") and f.startswith("build")))
        for name in sorted(names):
            if not suffixes or name.endswith(suffixes):
                yield Path(folder) / name


def cpp_files(root):
    return files(root, ".cc", ".h")


def text_of(path):
    return path.read_text(encoding="utf-8", errors="replace")


def code_of(path):
    """A C++ file without its comments and what its string literals say, line numbers kept."""
    return _LITERAL_OR_COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found.group(0)), text_of(path))


def matches(root, path, text, pattern):
    for number, line in enumerate(text.splitlines(), 1):
        if found := re.search(pattern, line):
            yield f"{path.relative_to(root)}:{number}: {found.group(0).strip()}"


DOCUMENTS = (".md", ".scd")
_HASH_COMMENTS = (".sh", ".py", ".build", ".txt", ".toml", ".service", ".in", ".mount", ".automount", ".conf", "/run", "/init")


def comments(path):
    """[(line, text)]: each block of comment lines that follow one another, without its markers; of a document all."""
    text = text_of(path)
    if path.name.endswith(DOCUMENTS):
        return [(1, text)]
    if path.name.endswith((".cc", ".h")):
        return _joined(_cpp_comments(text))
    if path.name.endswith(".py"):
        return _joined(_hash_comments(text)) + list(_docstrings(text))
    if str(path).endswith(_HASH_COMMENTS):
        return _joined(_hash_comments(text))
    return []


def literals(path):
    """[(line, text)]: what the string literals of a C++ file say."""
    text = text_of(path)
    return [(text.count("\n", 0, found.start()) + 1, found.group(0)[1:-1])
            for found in _LITERAL_OR_COMMENT.finditer(text) if found.group(0).startswith('"')]


def _cpp_comments(text):
    for found in _LITERAL_OR_COMMENT.finditer(text):
        if found.group(0).startswith("/"):
            first = text.count("\n", 0, found.start()) + 1
            for number, line in enumerate(found.group(0).splitlines()):
                yield first + number, re.sub(r"^\s*(//[/!]?<?|/\*+|\*+/?)\s?|\s*\*/$", "", line)


def _hash_comments(text):
    for number, line in enumerate(text.splitlines(), 1):
        if found := re.search(r"(?:^|\s)#(?!!)\s?(.*)", line):
            yield number, found.group(1)


def _docstrings(text):
    for found in re.finditer(r'^[ \t]*"""(.*?)"""', text, re.DOTALL | re.MULTILINE):
        yield text.count("\n", 0, found.start()) + 1, found.group(1)


def _joined(lines):
    """Lines with consecutive numbers as one text."""
    blocks = []
    last = None
    for number, line in lines:
        if last is not None and number == last + 1:
            blocks[-1][1].append(line)
        else:
            blocks.append((number, [line]))
        last = number
    return [(first, "\n".join(text)) for first, text in blocks]


def place(root, path, first, text, at):
    """FILE:LINE of a position in a text that begins at line `first` of the file."""
    return f"{path.relative_to(root)}:{first + text.count(chr(10), 0, at)}"
