# SPDX-License-Identifier: Apache-2.0
"""The tree keeps its own rules; and, for each rule, a planted violation is caught."""

import warnings
from pathlib import Path

import pytest
import rules

ROOT = Path(__file__).resolve().parents[2]

PINNED_WRAP = ("[wrap-file]\nsource_url = https:/" "/github.com/x/x/x.tar.gz\nsource_hash = " + "0a" * 32 +
               "\ndiff_files = x.patch\n")

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
        rules.too_long, {"src/vfs/names.cc": "\n" * (rules.LINES_MAX + 1)}),
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
        rules.mount_tests_told_of, {"tests/mount/new_test.py": '"""Proves what nobody reads of."""\n'}),
}

SPDX = "// SPDX-License-Identifier: Apache-2.0\n"
SMALL_TREE = {
    "README.md": "Read [the map](src/README.md).\n",
    "src/README.md": "| `base/` | x |\n| `s3/` | x |\n| `vfs/` | x |\n",
    "src/meson.build": "# SPDX-License-Identifier: Apache-2.0\nsubdir('base')\nsubdir('s3')\nsubdir('vfs')\n",
    "include/s3rdmafs/base/mutex.h": SPDX + "std::mutex inner_;\n",
    "include/s3rdmafs/base/error.h": SPDX,
    "include/s3rdmafs/s3/uri.h": SPDX + '#include "s3rdmafs/base/error.h"\n',
    "src/s3/object_store.h": SPDX + '#include "s3rdmafs/base/error.h"\n',
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


@pytest.mark.parametrize("rule", sorted({rule.__name__ for rule, _ in RULES.values()}))
def test_this_tree_keeps_the_rule(rule):
    violations = getattr(rules, rule)(ROOT)
    assert not violations, getattr(rules, rule).__doc__ + "\n" + "\n".join(violations)


@pytest.mark.parametrize("sentence", RULES)
def test_a_violation_is_caught(sentence, tmp_path):
    rule, violation = RULES[sentence]
    assert rule(plant(tmp_path, SMALL_TREE)) == [], "the tree without the violation must pass"
    assert rule(plant(tmp_path, violation)), f"not caught: {sentence}"


def test_long_files_are_listed_for_a_second_look():
    for lines, path in rules.lengths(ROOT):
        warnings.warn(f"{path} has {lines} lines: is it one idea?")
