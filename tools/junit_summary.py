#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the test cases of JUnit files (GoogleTest's through Meson, pytest's).

    junit_summary.py [--skips-fail] FILE...

Prints "PASSED FAILED SKIPPED" on stdout, and on stderr each test that failed or was skipped, with the
reason. With --skips-fail a skipped test counts as failed: a suite that must run somewhere runs in CI.
"""

import sys
import xml.etree.ElementTree as ElementTree


def reason(element):
    text = element.get("message") or (element.text or "").strip()
    return " ".join(text.split())[:300] or "no reason given"


def verdict(case):
    """Returns (what happened, why) for one <testcase>."""
    for tag in ("failure", "error"):
        if (found := case.find(tag)) is not None:
            return "failed", reason(found)
    if (found := case.find("skipped")) is not None:
        return "skipped", reason(found)
    return "passed", ""


def main(arguments):
    skips_fail = "--skips-fail" in arguments
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for path in (a for a in arguments if a != "--skips-fail"):
        try:
            cases = ElementTree.parse(path).iter("testcase")
        except ElementTree.ParseError as error:
            print(f"  FAILED {path}: the report was cut short: {error}", file=sys.stderr)
            counts["failed"] += 1
            continue
        for case in cases:
            what, why = verdict(case)
            name = f"{case.get('classname', '')}.{case.get('name', '')}".lstrip(".")
            if what == "skipped" and skips_fail:
                what, why = "failed", f"skipped, which CI does not allow: {why}"
            if what != "passed":
                print(f"  {what.upper()} {name}: {why}", file=sys.stderr)
            counts[what] += 1
    print(counts["passed"], counts["failed"], counts["skipped"])


if __name__ == "__main__":
    main(sys.argv[1:])
