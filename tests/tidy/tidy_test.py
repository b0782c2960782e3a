# SPDX-License-Identifier: Apache-2.0
"""The tree keeps its own rules; and, for each rule, a planted violation is caught."""

import warnings
from pathlib import Path

import pytest
import rules
from history import wrong_subjects
from sources import FILES_OF_A_FOLDER_MAX, LINES_MAX, LINES_MEDIAN_MAX, lengths

ROOT = Path(__file__).resolve().parents[2]

PINNED_WRAP = ("[wrap-file]\nsource_url = https:/" "/github.com/x/x/x.tar.gz\nsource_hash = " + "0a" * 32 +
               "\ndiff_files = x.patch\n")

PAGE = "man/s3rdmafs-semantics.7.scd"

# Rule, what it promises of this tree, and a violation of it: {path: text} on top of SMALL_TREE.
RULES = {
    "a layer includes only the layers below it": (
        rules.layering, {"src/s3/client.cc": '#include "vfs/file_system.h"\n'}),
    "a layer includes no public header of a layer above it": (
        rules.layering, {"src/base/error.cc": '#include "s3rdmafs/s3/uri.h"\n'}),
    "a public header includes no private one": (
        rules.layering, {"include/s3rdmafs/s3/uri.h": '#include "s3/object_store.h"\n'}),
    "a tool includes no layer's private header": (
        rules.layering, {"tools/target/main.cc": '#include "s3/object_store.h"\n'}),
    "a folder of src is in the table of layers": (
        rules.layering, {"src/misc/helper.cc": "\n"}),
    "layers are built in the order of the table": (
        rules.build_order, {"src/meson.build": "subdir('vfs')\nsubdir('base')\nsubdir('s3')\n"}),
    "each source file names its licence": (
        rules.licence, {"src/s3/client.cc": "int x;\n"}),
    "locks are the annotated ones": (
        rules.annotated_locks, {"src/s3/client.cc": "std::mutex mutex_;\n"}),
    "locks are taken the annotated way": (
        rules.annotated_locks, {"tests/unit/x_test.cc": "std::lock_guard guard(mutex_);\n"}),
    "condition variables are the annotated ones": (
        rules.annotated_locks, {"tools/target/main.cc": "std::condition_variable wake_;\n"}),
    "no layer writes to stdout": (
        rules.no_prints, {"src/vfs/names.cc": 'std::cout << "here";\n'}),
    "no layer prints": (
        rules.no_prints, {"src/vfs/names.cc": 'fprintf(stderr, "here");\n'}),
    "no file is too long": (
        rules.too_long, {"src/vfs/names.cc": "\n" * (LINES_MAX + 1)}),
    "what runs names no other host": (
        rules.no_remote_hosts, {"tools/get.sh": "curl https://" + "files.host.io/x.tar.gz\n"}),
    "a subproject is pinned by its hash": (
        rules.wraps_are_pinned, {"subprojects/x.wrap": PINNED_WRAP.replace("source_hash", "# source_hash")}),
    "a subproject comes from its own project": (
        rules.wraps_are_pinned, {"subprojects/x.wrap": PINNED_WRAP.replace("github.com", "files.host.io")}),
    "a subproject's patch lies beside it": (
        rules.wraps_are_pinned, {"subprojects/x.wrap": PINNED_WRAP.replace("x.patch", "gone.patch")}),
    "nothing is left for later": (
        rules.no_leftovers, {"src/vfs/names.cc": "// TO" "DO: the rest\n"}),
    "README's scripts exist": (
        rules.readme_commands, {"README.md": "    ./tools/gone.sh\n"}),
    "README's scripts can be run": (
        rules.readme_commands, {"README.md": "    ./tools/plain.sh\n", "tools/plain.sh": "\n"}),
    "README's options exist": (
        rules.readme_commands, {"README.md": "    ./tools/plain.sh --gone\n", "tools/plain.sh": "--here\n"}),
    "README's links lead somewhere": (
        rules.readme_commands, {"README.md": "See [the map](src/gone.md).\n"}),
    "the tests' README tells of every file of mount tests": (
        rules.mount_tests_told_of, {"tests/mount/new_test.py": '"""Proves something."""\n'}),
    "half of the files are short": (
        rules.median_length, {f"src/vfs/n{number}.cc": "\n" * (LINES_MEDIAN_MAX + 1) for number in range(40)}),
    "no folder is crowded": (
        rules.crowded_folders, {f"src/vfs/n{number}.cc": "\n" for number in range(FILES_OF_A_FOLDER_MAX)}),
    "no file includes another source file": (
        rules.included_sources, {"src/vfs/names.cc": '#include "vfs/other.cc"\n'}),
    "a sub-folder includes only those before it": (
        rules.folder_order, {"src/s3/wire/sign.h": '#include "s3/http/loop.h"\n'}),
    "a sub-folder includes no file of its folder, which comes last": (
        rules.folder_order, {"src/s3/http/loop.h": '#include "s3/object_store.h"\n'}),
    "a file that an order names includes no sub-folder after it": (
        rules.folder_order, {"src/s3/token.h": '#include "s3/wire/sign.h"\n'}),
    "an order names every sub-folder": (
        rules.folder_order, {"src/s3/extra/x.h": "\n"}),
    "an order names sub-folders that are there": (
        rules.folder_order, {"src/s3/README.md": "Order: wire, http, gone\n"}),
    "a file that a comment mentions exists": (
        rules.dead_references, {"src/vfs/names.cc": "// See design.md, section 4.\n"}),
    "a path that a comment mentions exists": (
        rules.dead_references, {"src/vfs/names.cc": "// As in s3/gone.h.\n"}),
    "a folder that a document mentions exists": (
        rules.dead_references, {"src/vfs/README.md": "The fakes are in `tests/gone`.\n"}),
    "a file that a script's comment mentions exists": (
        rules.dead_references, {"tools/get.sh": "# As tools/gone.sh does.\n"}),
    "a file that a docstring mentions exists": (
        rules.dead_references, {"tests/mount/x_test.py": '"""As in gone_test.py."""\n'}),
    "a manual page that is mentioned exists": (
        rules.dead_references, {"src/vfs/names.cc": "// s3rdmafs-gone(7) tells why.\n"}),
    "a section of a manual page exists": (
        rules.dead_references, {"src/vfs/names.cc": "// See s3rdmafs-semantics(7), GONE PARTS.\n"}),
    "a section of a README exists": (
        rules.dead_references, {"src/vfs/names.cc": '// See src/README.md, "Gone".\n'}),
    "a function that a comment names exists": (
        rules.dead_identifiers, {"src/vfs/names.cc": "// As on_gone() does.\n"}),
    "a method that a comment names exists": (
        rules.dead_identifiers, {"src/vfs/names.h": "/// Ended by ObjectStore::gone().\n"}),
    "a default of the page is that of the schema": (
        rules.defaults_in_pages, {"man/s3rdmafs.toml.5.scd": "## [retry]\n\n*deadline* = duration\n\n\tDefault: *31s*.\n"}),
    "a default told in passing is that of the schema": (
        rules.defaults_in_pages, {"man/s3rdmafs-semantics.7.scd": "It ends after *retry.deadline* (31s by default).\n"}),
    "a claim is shown by a test": (
        rules.claims_are_shown, {PAGE: "# WRITING\n\nIt ends.\n"}),
    "each claim is shown by a test of its own": (
        rules.claims_are_shown, {PAGE: "# WRITING\n\nIt ends.\n; shown by tests/unit/x_test.cc: Write.Ends\n\nIt goes on.\n"}),
    "the file of tests that shows a claim exists": (
        rules.claims_are_shown, {PAGE: "# WRITING\n\nIt ends.\n; shown by tests/mount/gone_test.py::test_it_ends\n"}),
    "the test that shows a claim exists": (
        rules.claims_are_shown, {PAGE: "# WRITING\n\nIt ends.\n; shown by tests/unit/x_test.cc: Write.Goes\n"}),
    "the function that shows a claim exists": (
        rules.claims_are_shown, {PAGE: "# WRITING\n\nIt ends.\n; shown by tests/unit/x_test.py::test_it_goes\n"}),
    "a comment after a claim names a test": (
        rules.claims_are_shown, {PAGE: "# WRITING\n\nIt ends.\n; shown by and by\n"}),
    "each key of a mount file has an effect that a test sees": (
        rules.keys_are_shown, {"man/s3rdmafs.toml.5.scd": "## [retry]\n\n*deadline* = duration\n\n\tDefault: *30s*.\n"}),
    "the test that sees the effect of a key exists": (
        rules.keys_are_shown, {"man/s3rdmafs.toml.5.scd":
                               "*deadline* = duration\n\tAn end.\n; shown by tests/unit/x_test.cc: Retry.Ends\n\n\tDefault: *30s*.\n"}),
    "a folder tells what it is for": (
        rules.folder_readmes, {"tools/gone/x.py": "\n"}),
}

# What the language rule rejects, and what it must let pass.
FORBIDDEN = [
    "The file is no\nlist.", "It is made anew.", "What comes behind it is void.", "Asked by nobody.", "Somebody asks.",
    "Whoever asks waits.", "Who asks waits.", "It ends. What was read stays.", "The thread ends when he has read it.",
]
ALLOWED = [
    "There is no file.", "It is no longer there.", "Nothing is left behind.", "A file changes behind its back.",
    "Who asks?", "It tells what was read.", "The header holds this.",
]

SPDX = "// SPDX-License-Identifier: Apache-2.0\n"
SMALL_TREE = {
    "README.md": "Read [the map](src/README.md).\n",
    "src/README.md": "## Map\n| `base/` | x |\n| `config/` | x |\n| `s3/` | x |\n| `vfs/` | x |\n",
    "src/meson.build": "# SPDX-License-Identifier: Apache-2.0\nsubdir('base')\nsubdir('config')\nsubdir('s3')\nsubdir('vfs')\n",
    "include/s3rdmafs/base/mutex.h": SPDX + "std::mutex inner_;\n",
    "include/s3rdmafs/base/error.h": SPDX,
    "include/s3rdmafs/s3/uri.h": SPDX + '#include "s3rdmafs/base/error.h"\n',
    "src/s3/README.md": "# s3\n\nOrder: token.h, wire, http\n",
    "src/s3/token.h": SPDX,
    "src/s3/object_store.h": SPDX + '#include "s3rdmafs/base/error.h"\n#include "s3/http/loop.h"\nclass ObjectStore;\n',
    "src/s3/wire/sign.h": SPDX + '#include "s3/token.h"\n',
    "src/s3/http/loop.h": SPDX + '// Signs by wire/sign.h; see open(2), fstat() and src/README.md, "Map".\n'
                                 '#include "s3/wire/sign.h"\n#include <sys/stat.h>\nint x = fstat();\n',
    "src/base/README.md": "", "src/vfs/README.md": "", "tools/target/README.md": "", "tests/mount/README.md": "",
    "tests/unit/README.md": "", "tests/README.md": "",
    "include/README.md": "",
    "man/README.md": "",
    PAGE: "# WRITING\n\nIt ends after *retry.deadline* (30s by default).\n; shown by tests/unit/x_test.cc: Write.Ends\n"
          "; shown by tests/unit/x_test.py::test_it_ends\n\n# SEE ALSO\n\nOthers.\n",
    "tests/unit/x_test.cc": SPDX + "TEST(Write, Ends) {}\n",
    "tests/unit/x_test.py": "# SPDX-License-Identifier: Apache-2.0\ndef test_it_ends():\n    pass\n",
    "man/s3rdmafs.toml.5.scd": "## [retry]\n\n*deadline* = duration\n\tAn end.\n; shown by tests/unit/x_test.cc: Write.Ends\n\n"
                               "\tDefault: *30s*.\n",
    "src/config/keys/mount_keys.cc": SPDX + 'Key kKeys[] = {\n    {"retry", "deadline",\n     Time{}, Default{"30s"}, "x"},\n',
    "src/config/README.md": "",
    "src/vfs/file_system.h": SPDX + '#include "s3/object_store.h"\n',
    "src/vfs/names.cc": SPDX + '// a std::mutex would be wrong here\nauto n = std::snprintf(b, 9, "printf(");\n',
    "tools/target/main.cc": SPDX + '#include "s3rdmafs/s3/uri.h"\n#include "own.h"\n',
    "tools/target/own.h": SPDX,
    "subprojects/x.wrap": PINNED_WRAP,
    "subprojects/packagefiles/x.patch": "",
    "tools/get.sh": "# SPDX-License-Identifier: Apache-2.0\ncurl http://127.0.0.1:80/\n",
}


def plant(root, tree):
    for name, text in tree.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.mark.parametrize("rule", rules.ALL, ids=lambda rule: rule.__name__)
def test_this_tree_keeps_the_rule(rule):
    violations = rule(ROOT)
    assert not violations, rule.__doc__ + "\n" + "\n".join(violations)


def test_every_rule_has_a_planted_violation():
    shown_below = {"language", "commit_subjects"}
    assert {rule.__name__ for rule in rules.ALL} == {rule.__name__ for rule, _ in RULES.values()} | shown_below


@pytest.mark.parametrize("sentence", RULES)
def test_a_violation_is_caught(sentence, tmp_path):
    rule, violation = RULES[sentence]
    assert rule(plant(tmp_path, SMALL_TREE)) == [], "the tree without the violation must pass"
    assert rule(plant(tmp_path, violation)), f"not caught: {sentence}"


@pytest.mark.parametrize("made", [
    ("src/vfs/names.cc", "// {}\n"), ("src/vfs/names.cc", 'log("{}");\n'), ("tools/get.sh", "# {}\n"),
    ("tests/mount/x_test.py", '"""{}"""\n'), ("src/vfs/README.md", "{}\n"), (PAGE, "{}\n")],
    ids=["comment", "literal", "script", "docstring", "README", "page"])
def test_a_phrase_that_the_language_forbids_is_caught(made, tmp_path):
    path, form = made
    for phrase in FORBIDDEN:
        if "\n" in phrase and path.endswith((".cc", ".sh")):
            phrase = phrase.replace("\n", " ")
        assert rules.language(plant(tmp_path, {path: form.format(phrase)})), phrase
    for phrase in ALLOWED:
        assert rules.language(plant(tmp_path, {path: form.format(phrase)})) == [], phrase


@pytest.mark.parametrize("name, is_caught", [
    ("TEST(Reader, WhatWasReadStays) {", True), ("TEST(Reader, AskedByNobodyItEnds) {", True), ("TEST(Reader, ReadsStay) {", False)])
def test_a_tests_name_keeps_the_language(name, is_caught, tmp_path):
    assert bool(rules.language(plant(tmp_path, {"tests/unit/vfs/x_test.cc": name + "\n"}))) == is_caught


def test_a_phrase_over_two_lines_of_a_comment_is_caught(tmp_path):
    assert rules.language(plant(tmp_path, {"src/vfs/names.cc": "// The file is\n// no list.\n"}))


@pytest.mark.parametrize("subject, is_right", [
    ("vfs: Hide a file that was removed", True), ("s3, upload: End soon", True), ("tests/mount: Wait for it", True),
    ("wip", False), ("vfs: WIP", False), ("Hide a file", False), ("vfs: hide a file", False), ("fixup! vfs: Hide", False)])
def test_a_commits_subject_is_judged(subject, is_right):
    assert (wrong_subjects([subject]) == []) == is_right


def test_long_files_are_listed_for_a_second_look():
    for lines, path in lengths(ROOT):
        warnings.warn(f"{path} has {lines} lines: is it one idea?")
