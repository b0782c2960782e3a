# SPDX-License-Identifier: Apache-2.0
"""The language rule: a sentence names its subject, then its verb, in the field's words."""

import re

from tree import DOCUMENTS, comments, files, literals, place, text_of

_WITH_COMMENTS = (".cc", ".h", ".py", ".sh", ".build", ".md", ".scd", ".toml", ".service", ".in", "run", "init")

_COMPARED = (r"longer|more|less|fewer|later|earlier|older|newer|larger|smaller|greater|better|worse|faster|slower|"
             r"shorter|higher|lower|further|other")

# Pattern, what to write instead. \s+ stands where a line may end.
PHRASES = [
    (rf"(?<!there\s)(?<!There\s)(?<!there)\b(?:is|are|was|were)\s+no\s+(?!(?:{_COMPARED})\b)\w+", "is not a"),
    (r"\b[Aa]new\b", "again"),
    (r"\b[Bb]ehind\b", "after"),
    (r"\b(?:[Nn]obody|[Ss]omebody|[Ww]hoever|[Ss]omeone|[Nn]o\s+one)(?:'?s)?\b", "the subject: the caller, the thread, a user"),
    (r"\b(?:[Hh]e|[Hh]im|[Hh]is|[Ss]he|[Hh]er)\b", "it"),
]

# "behind" in its own sense: in space, or late.
TRUE_BEHIND = re.compile(r"\b(?:left|stay\w*|fall\w*|fell|lag\w*)\s+behind\b|\blea(?:ve|ves|ving)\s+(?:\S+\s+){0,4}behind\b"
                         r"|\bbehind\s+(?:(?:its|their|our|the\s+kernel's)\s+back|a\s+proxy|a\s+firewall|a\s+load\s+balancer)\b")

_SUBJECT = re.compile(r"(?:\A\s*|(?<=[.:;!?])\s+|(?<=\|)\s*|(?<=\*\s))(Who|What|Whoever)\b([^.?!]*)([.?!]|\Z)")
_TEST_NAME = re.compile(r"^\s*(?:TEST|TEST_F|TEST_P|TYPED_TEST|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP)\(\s*\w+,\s*(\w+)"
                        r"|^def (test_\w+)", re.MULTILINE)


def violations_in(text):
    """[(position, what is wrong)]"""
    behind = [found.span() for found in TRUE_BEHIND.finditer(text)]
    wrong = []
    for pattern, instead in PHRASES:
        for found in re.finditer(pattern, text):
            if any(begin <= found.start() < end for begin, end in behind):
                continue
            wrong.append((found.start(), f'"{" ".join(found.group(0).split())}": {instead}'))
    for found in _SUBJECT.finditer(text):
        if found.group(3) != "?":
            wrong.append((found.start(1), f'"{" ".join((found.group(1) + found.group(2)).split())[:50]}": name the subject'))
    return wrong


def _prose_of(path):
    """A document without its code, line numbers kept: blocks between fences, indented blocks, `code`."""
    text = text_of(path)
    text = re.sub(r"^```.*?^```", lambda found: "\n" * found.group(0).count("\n"), text, flags=re.DOTALL | re.MULTILINE)
    if path.suffix == ".md":
        text = re.sub(r"^ {4,}.*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"^#+ .*$", "", text, flags=re.MULTILINE)
    return re.sub(r"`[^`\n]*`", "", text)


def _words_of(name):
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_", " ", name.removeprefix("test_")).strip()


def _texts(root, path):
    inside = path.relative_to(root).parts
    yield from ([(1, _prose_of(path))] if path.name.endswith(DOCUMENTS) else comments(path))
    if path.name.endswith((".cc", ".h")) and inside[0] in ("src", "tools", "include"):
        yield from literals(path)


def language(root):
    """Comments, documents, texts for users and names of tests keep the language rule."""
    violations = []
    for path in files(root, *_WITH_COMMENTS):
        if path.relative_to(root).parts[:2] == ("tests", "tidy"):
            continue  # it names the phrases
        for first, text in _texts(root, path):
            violations += [f"{place(root, path, first, text, at)}: {why}" for at, why in violations_in(text)]
        text = text_of(path)
        if path.name.endswith(("_test.cc", "_test.py")):
            for found in _TEST_NAME.finditer(text):
                words = _words_of(found.group(1) or found.group(2))
                words = words[0].upper() + words[1:].lower()
                violations += [f"{place(root, path, 1, text, found.start(1 if found.group(1) else 2))}: a test's name: {why}"
                               for _, why in violations_in(words)]
    return violations
