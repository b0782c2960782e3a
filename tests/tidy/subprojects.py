# SPDX-License-Identifier: Apache-2.0
"""Subprojects come from where they say, unchanged."""

import re

from tree import text_of


def wraps_are_pinned(root):
    """A subproject is one release, by its hash, from its own project; what is changed in it lies beside it."""
    violations = []
    for path in sorted((root / "subprojects").glob("*.wrap")):
        values = dict(re.findall(r"^(\w+) *= *(\S.*?) *$", text_of(path), re.MULTILINE))
        if not re.fullmatch(r"[0-9a-f]{64}", values.get("source_hash", "")):
            violations.append(f"{path.relative_to(root)} has no source_hash")
        urls = [value for key, value in values.items() if key.endswith("url")]
        if not urls or not all(re.match(r"https:/" r"/github\.com/", url) for url in urls):
            violations.append(f"{path.relative_to(root)} does not come from its own project alone")
        violations += [f"{path.relative_to(root)} names {name}, which is not in packagefiles"
                       for name in re.split(r",\s*", values.get("diff_files", ""))
                       if name and not (root / "subprojects/packagefiles" / name).is_file()]
    return violations
