# SPDX-License-Identifier: Apache-2.0
"""Commits that can be read years later."""

import re
import subprocess

# The rule began after this commit: earlier subjects are history, which is not rewritten.
RULE_BEGAN_AFTER = "f889515"

SUBJECT = re.compile(r"[a-z0-9][\w./-]*(, [\w./-]+)*: [A-Z0-9`\"'\[-].*[^.]")
_UNFINISHED = re.compile(r"\bwip\b|^fixup!|^squash!", re.IGNORECASE)


def wrong_subjects(subjects):
    return [subject for subject in subjects if not SUBJECT.fullmatch(subject) or _UNFINISHED.search(subject)]


def commit_subjects(root):
    """A commit's subject is "area: What changes", and not "wip"."""
    if not (root / ".git").exists():
        return []

    def git(*arguments):
        return subprocess.run(["git", "-C", str(root), *arguments], check=False, timeout=20, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    if git("merge-base", "--is-ancestor", RULE_BEGAN_AFTER, "HEAD").returncode != 0:
        return []  # a shallow clone, or another history
    log = git("log", "--no-merges", "--format=%s", f"{RULE_BEGAN_AFTER}..HEAD")
    return [f"commit subject: {subject}" for subject in wrong_subjects(log.stdout.splitlines())]
