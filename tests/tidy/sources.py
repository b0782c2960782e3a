# SPDX-License-Identifier: Apache-2.0
"""What a source file may contain, and how long it may be."""

import re
import statistics
from collections import Counter

from tree import code_of, cpp_files, files, matches, text_of

LINES_WORTH_A_LOOK = 400
LINES_MAX = 450
LINES_MEDIAN_MAX = 100
FILES_OF_A_FOLDER_MAX = 25


def licence(root):
    """Each source file says its licence in its first lines (behind a #! line where it has one)."""
    wanted = "SPDX-License-Identifier: Apache-2.0"
    sources = files(root, ".cc", ".h", ".py", ".sh", "meson.build", "meson_options.txt", ".ci/run")
    return [f"{path.relative_to(root)} lacks '{wanted}'" for path in sources
            if wanted not in "\n".join(text_of(path).splitlines()[:2])]


def annotated_locks(root):
    """Locks are base/mutex.h's, which clang checks; the library's own are invisible to it."""
    banned = (r"std::(recursive_|shared_|timed_|shared_timed_|recursive_timed_)?mutex\b"
              r"|std::condition_variable|std::(lock_guard|unique_lock|scoped_lock|shared_lock)\b")
    wrapper = root / "include/s3rdmafs/base/mutex.h"
    return [found for path in cpp_files(root) if path != wrapper
            for found in matches(root, path, code_of(path), banned)]


def no_prints(root):
    """A layer logs. Only the command line (daemon/) writes to stdout."""
    banned = r"std::(cout|cerr|clog)\b|(?<![\w:.>])(std::)?f?(printf|puts|putchar)\s*\("
    return [found for path in cpp_files(root / "src")
            if path.relative_to(root).parts[1] != "daemon"
            for found in matches(root, path, code_of(path), banned)]


def lengths(root):
    """[(lines, path)] of the files longer than LINES_WORTH_A_LOOK."""
    counted = ((len(text_of(path).splitlines()), path)
               for path in files(root, ".cc", ".h", ".py", ".sh"))
    return sorted((n, str(path.relative_to(root))) for n, path in counted if n > LINES_WORTH_A_LOOK)


def too_long(root):
    """No file is longer than LINES_MAX: one idea a file."""
    return [f"{path} has {n} lines" for n, path in lengths(root) if n > LINES_MAX]


def median_length(root):
    """Half of the C++ files have at most LINES_MEDIAN_MAX lines."""
    counts = [len(text_of(path).splitlines()) for path in cpp_files(root)]
    if not counts or statistics.median(counts) <= LINES_MEDIAN_MAX:
        return []
    return [f"the median file has {statistics.median(counts)} lines"]


def crowded_folders(root):
    """A folder has at most FILES_OF_A_FOLDER_MAX source files of its own."""
    counts = Counter(path.parent for path in files(root, ".cc", ".h", ".py", ".sh"))
    return [f"{folder.relative_to(root)} has {count} source files"
            for folder, count in sorted(counts.items()) if count > FILES_OF_A_FOLDER_MAX]


def included_sources(root):
    """No file includes a .cc. clang-tidy cannot tell: what Meson gives it to read includes them."""
    return [found for path in cpp_files(root)
            for found in matches(root, path, text_of(path), r'^\s*#\s*include\s+["<][^">]+\.cc[">]')]


def no_remote_hosts(root):
    """What runs names no host but this one: packages come from wherever the machine is set up for.

    XML name spaces, the reserved example domains and that of an example for Amazon are names, not places. A wrap names its project: wraps_are_pinned.
    """
    allowed = re.compile(r"(127\.0\.0\.1|localhost|\[::1\]|\$.*|\{.*|%s|s3(\.[a-z0-9-]+)?\.amazonaws\.com|www\.w3\.org"
                         r"|(.*\.)?(example|invalid|test)(\.(com|org|net))?)")
    violations = []
    for path in files(root, ".py", ".sh", "meson.build", ".ci/run", ".toml", ".service"):
        for number, line in enumerate(text_of(path).splitlines(), 1):
            for host in re.findall(r"\b(?:https?|ftp|git|ssh)://([^\s/'\"`:?#]+)", line):
                if not allowed.fullmatch(host):
                    violations.append(f"{path.relative_to(root)}:{number}: {host}")
    return violations


def no_leftovers(root):
    """Nothing is left for later in the source: an issue is the place for that."""
    words = r"\b(" + "|".join(("TO" "DO", "FIX" "ME", "HA" "CK")) + r")\b"
    return [found for path in files(root, ".cc", ".h", ".py", ".sh", ".build", ".md", ".scd", ".toml")
            for found in matches(root, path, text_of(path), words)]
