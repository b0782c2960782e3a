# SPDX-License-Identifier: Apache-2.0
"""Tests execute the claims of s3rdmafs-semantics(7) and the keys of s3rdmafs.toml(5): comments name the tests that show each."""

import re

from tree import text_of

_PAGE = "man/s3rdmafs-semantics.7.scd"
_KEYS_PAGE = "man/s3rdmafs.toml.5.scd"
_KEY = re.compile(r"\*(\w+)\* = ")
_KEYS_OF_AWS = {"credential_process", "role_arn", "sso_session"}  # of other programs' files
_SECTIONS_WITHOUT_CLAIMS = {"", "NAME", "SEE ALSO"}
_SHOWN_BY = re.compile(r"; shown by (tests/\S+_test\.(?:py|cc))(?:::(test_\w+)|: (\w+)\.(\w+))$")

# How claims begin that no test executes: why none does.
NOT_SHOWN = {
    'With *write.state_dir* = "auto" the mount goes on without one.': "needs /var/lib/s3rdmafs that root cannot write",
}


def claims_are_shown(root):
    """Each claim of s3rdmafs-semantics(7) is followed by "; shown by FILE::test_x" or "; shown by FILE: Suite.Name"."""
    page = root / _PAGE
    violations = []
    section = ""
    for first, lines in _paragraphs(text_of(page)) if page.exists() else ():
        if lines[0].startswith("# "):
            section = lines[0][2:].strip()
        elif section not in _SECTIONS_WITHOUT_CLAIMS:
            violations += [f"{_PAGE}:{first}: {why}" for why in _faults(root, lines)]
    return violations


def keys_are_shown(root):
    """The description of each key in s3rdmafs.toml(5) ends in comments that name tests that see its effect."""
    page = root / _KEYS_PAGE
    violations = []
    key, first, lines = None, 0, []
    for number, line in enumerate([*text_of(page).splitlines(), "# END"] if page.exists() else (), 1):
        found = _KEY.match(line)
        if found or line.startswith("#"):
            if key and key not in _KEYS_OF_AWS:
                violations += [f"{_KEYS_PAGE}:{first}: {why}" for why in _faults(root, [f"*{key}*", *lines])]
            key, first, lines = found and found[1], number, []
        elif line.startswith(";"):
            lines.append(line)
    return violations


def _paragraphs(text):
    """[(line, lines)]: runs of lines that are not empty; a heading is one by itself."""
    runs = [(1, [])]
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("# ") or not line.strip() or not runs[-1][1]:
            runs.append((number, []))
        if line.strip():
            runs[-1][1].append(line)
        if line.startswith("# "):
            runs.append((number + 1, []))
    return [run for run in runs if run[1]]


def _faults(root, lines):
    text = " ".join(line for line in lines if not line.startswith(";"))
    comments = [line for line in lines if line.startswith(";")]
    is_table = text.startswith("[[")  # scdoc takes no comment after its rows: the sentence before it has them
    if not comments and not is_table and not any(text.startswith(begin) for begin in NOT_SHOWN):
        yield f'no test shows "{text[:50]}"'
    for comment in comments:
        found = _SHOWN_BY.match(comment)
        if not found:
            yield f'"{comment}" names no test'
        elif not _is_there(root / found[1], *found.groups()[1:]):
            yield f"{comment[len('; shown by '):]} does not exist"


def _is_there(path, function, suite, name):
    if not path.exists():
        return False
    test = rf"^def {function}\(" if function else rf"^TEST(?:_F|_P)?\(\s*{suite},\s*{name}\s*\)"
    return re.search(test, text_of(path), re.MULTILINE) is not None
