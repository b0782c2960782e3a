#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The tree's own rules. Each takes the root of a source tree and returns its violations, one string each.

    rules.py [--list] [RULE...]   prints all violations of this tree, grouped by file; status 1 if there are any

A rule looks only at the tree it is given, so that tidy_test.py can plant a violation in a small one and
see it caught.
"""

import sys
from collections import defaultdict
from pathlib import Path

from claims import claims_are_shown, keys_are_shown
from documents import defaults_in_pages, folder_readmes, mount_tests_told_of, readme_commands
from history import commit_subjects
from language import language
from layers import build_order, folder_order, layering
from references import dead_identifiers, dead_references
from sources import (annotated_locks, crowded_folders, included_sources, licence, median_length, no_leftovers, no_prints,
                     no_remote_hosts, too_long)
from subprojects import wraps_are_pinned

ALL = [annotated_locks, build_order, claims_are_shown, commit_subjects, crowded_folders, dead_identifiers,
       dead_references, defaults_in_pages, folder_order, folder_readmes, included_sources, keys_are_shown, language, layering, licence, median_length,
       mount_tests_told_of, no_leftovers, no_prints, no_remote_hosts, readme_commands, too_long, wraps_are_pinned]


def main(arguments):
    wanted = [name for name in arguments if name != "--list"]
    by_file = defaultdict(list)
    for rule in ALL:
        if not wanted or rule.__name__ in wanted:
            for violation in rule(Path(__file__).resolve().parents[2]):
                by_file[violation.split(":")[0].split(" ")[0]].append(f"{violation}  [{rule.__name__}]")
    for name in sorted(by_file):
        print(f"{name}: {len(by_file[name])}")
        for violation in by_file[name]:
            print(f"  {violation}")
    print(f"{sum(map(len, by_file.values()))} violations in {len(by_file)} files")
    return 1 if by_file else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
