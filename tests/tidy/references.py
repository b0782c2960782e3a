# SPDX-License-Identifier: Apache-2.0
"""What comments and documents mention is there: files, folders, sections, manual pages, functions."""

import functools
import re

from tree import DOCUMENTS, code_of, comments, cpp_files, files, place, text_of

_WITH_COMMENTS = (".cc", ".h", ".py", ".sh", ".build", ".md", ".scd", ".toml", ".service", ".in", "run", "init")

_FILE = re.compile(r"(?<![\w/~$<>*{}.@%-])(?:\./)?((?:[\w.-]+/)*[\w.-]*\w\.(?:cc|h|py|sh|md|scd|build|wrap|patch))(?![\w*(/-])")
_FOLDER = re.compile(r"(?<![\w/~$<>*{}.@%-])((?:src|include|tests|tools|packaging|man)/(?:[\w.-]+/)*[\w-]+)(?![\w.*{<-]|/[A-Z*<{])")
_PAGE = re.compile(r"\b((?:mount\.)?s3rdma[\w.-]*)\*?\(([1-9])\)(?:,\s+((?:[A-Z][A-Z]+\s?)+[A-Z]))?")
_SECTION = re.compile(r'((?:[\w.-]+/)*README)(?:\.md)?,?\s+"([^"]+)"|"([^"]+)"\s+(?:of|in)\s+((?:[\w.-]+/)*README)(?:\.md)?')
_CALL = re.compile(r"(?<![\w.:>`-])((?:[A-Za-z_]\w*(?:::|\.|->))*~?[A-Za-z_]\w*)\(\)")

# Files that comments mention and this repository does not have: whose they are.
FOREIGN_FILES = {
    "behaviour-matrix.md": "written by tests/fault",
    "fault-matrix.md": "written by tests/fault",
    "fuse.h": "the kernel's include/uapi/linux/fuse.h",
    "report.md": "written by tools/bench/run.sh",
    "sysexits.h": "the C library's",
}

# Functions that comments mention and no code here calls: whose they are.
FOREIGN_FUNCTIONS = {
    "linkat": "POSIX",
}


def _tree_files(root):
    paths = [str(path.relative_to(root)) for path in files(root)]
    paths += [str(path.relative_to(root)) for path in (root / "subprojects").glob("packagefiles/*")]
    return paths + [str(path.relative_to(root)) for path in (root / "subprojects").glob("*.wrap")]


def _system_headers(root):
    return {name for path in cpp_files(root)
            for name in re.findall(r"^\s*#\s*include\s+<([^>]+)>", text_of(path), re.MULTILINE)}


def dead_references(root):
    """A file, folder or section of this repository that a comment or a document mentions exists."""
    known = _tree_files(root)
    ends = {"/".join(parts[i:]) for parts in (path.split("/") for path in known) for i in range(len(parts))}
    folders = {"/".join(path.split("/")[:i]) for path in known for i in range(1, path.count("/") + 1)}
    foreign = {name.split("/")[-1] for name in _system_headers(root)} | set(FOREIGN_FILES)
    violations = []
    for path in files(root, *_WITH_COMMENTS):
        for first, text in comments(path):
            def report(found, why, first=first, text=text, path=path):
                violations.append(f"{place(root, path, first, text, found.start())}: {why}")
            for found in _FILE.finditer(text):
                name = found.group(1).removeprefix("./")
                if name not in ends and name.split("/")[-1] not in foreign and not _is_url(text, found.start()):
                    report(found, f"{name} does not exist")
            for found in _FOLDER.finditer(text):
                name = found.group(1)
                # "src/base/log" may stand for log.h and log.cc.
                is_placeholder = any(part.isupper() for part in name.split("/"))
                if not is_placeholder and name not in ends | folders and not any(each.startswith(name + ".") for each in known):
                    report(found, f"{name} does not exist")
            for found in _PAGE.finditer(text):
                if why := _wrong_page(root, *found.groups()):
                    report(found, why)
            for found in _SECTION.finditer(text):
                before, title, other_title, after = found.groups()
                if why := _wrong_section(root, path, before or after, title or other_title):
                    report(found, why)
    return violations


def _is_url(text, at):
    return re.search(r"://\S*$", text[max(0, at - 200):at]) is not None


@functools.lru_cache(maxsize=None)
def _headings(path, mark):
    return {" ".join(line.lstrip("#").split()).lower()
            for line in text_of(path).splitlines() if line.startswith(mark)}


def _wrong_page(root, name, section, heading):
    path = root / f"man/{name}.{section}.scd"
    if not path.exists():
        return f"there is no manual page {name}({section})"
    if heading and " ".join(heading.split()).lower() not in _headings(path, "#"):
        return f"{name}({section}) has no section {' '.join(heading.split())}"
    return ""


def _wrong_section(root, path, readme, title):
    place_of = [root / f"{readme}.md", path.parent / f"{readme}.md"]
    found = [candidate for candidate in place_of if candidate.exists()]
    if not found:
        return f"{readme}.md does not exist"
    title = " ".join(title.split()).lower()
    if not any(title in _headings(candidate, "#") for candidate in found):
        return f'{readme}.md has no section "{title}"'
    return ""


def dead_identifiers(root):
    """A function that a comment names, as in `name()`, exists in the code."""
    known = {word for path in cpp_files(root) for word in re.findall(r"[A-Za-z_]\w*", code_of(path))}
    known |= {word for path in files(root, ".py", ".sh") for word in re.findall(r"[A-Za-z_]\w*", text_of(path))}
    known |= set(FOREIGN_FUNCTIONS)
    violations = []
    for path in [*cpp_files(root), *files(root, *DOCUMENTS)]:
        for first, text in comments(path):
            for found in _CALL.finditer(text):
                words = [word for word in re.split(r"::|\.|->|~", found.group(1)) if word and word != "std"]
                if dead := [word for word in words if word not in known]:
                    violations.append(f"{place(root, path, first, text, found.start())}: {dead[-1]}() does not exist")
    return violations
