# SPDX-License-Identifier: Apache-2.0
"""The tree's own rules. Each takes the root of a source tree and returns its violations, one string each.

A rule looks only at the tree it is given, so that tidy_test.py can plant a violation in a small one and
see it caught.
"""

import os
import re
from pathlib import Path

LINES_WORTH_A_LOOK = 400
LINES_MAX = 800

_SKIPPED_FOLDERS = {".git", "subprojects", "__pycache__", ".pytest_cache"}
_LITERAL_OR_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)


def files(root, *suffixes):
    """The files of the tree with one of these suffixes (all without any), build folders left out."""
    for folder, folders, names in os.walk(root):
        inside = Path(folder).relative_to(root)
        folders[:] = sorted(f for f in folders if f not in _SKIPPED_FOLDERS
                            and not (inside == Path(".") and f.startswith("build")))
        for name in sorted(names):
            if not suffixes or name.endswith(suffixes):
                yield Path(folder) / name


def cpp_files(root):
    return files(root, ".cc", ".h")


def text_of(path):
    return path.read_text(encoding="utf-8", errors="replace")


def code_of(path):
    """A C++ file without its comments and what its string literals say, line numbers kept."""
    return _LITERAL_OR_COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found.group(0)), text_of(path))


def matches(root, path, text, pattern):
    for number, line in enumerate(text.splitlines(), 1):
        if found := re.search(pattern, line):
            yield f"{path.relative_to(root)}:{number}: {found.group(0).strip()}"


def layer_order(root):
    """The layers, lowest first, as the table in src/README.md lists them."""
    return re.findall(r"^\| `(\w+)/` \|", text_of(root / "src/README.md"), re.MULTILINE)


def layering(root):
    """A layer includes only itself, the layers before it, and public headers of those.

    Public headers (include/s3rdmafs/LAYER) obey the same order and include no private header. Tools
    are programs of their own: they see public headers and their own files.
    """
    rank = {layer: i for i, layer in enumerate(layer_order(root))}
    violations = []
    for path in cpp_files(root):
        inside = path.relative_to(root).parts
        if inside[0] == "src":
            owner = inside[1]
        elif inside[:2] == ("include", "s3rdmafs"):
            owner = inside[2]
        elif inside[:2] == ("tools", "bench"):
            continue  # measures layers one by one, so it sees them as tests do
        elif inside[0] == "tools":
            owner = None
        else:
            continue  # tests may look at everything
        if owner is not None and owner not in rank:
            violations.append(f"{path.relative_to(root)}: folder {owner} is not in src/README.md's table")
            continue
        for included in re.findall(r'^\s*#\s*include\s+"([^"]+)"', text_of(path), re.MULTILINE):
            where = included.split("/")
            is_public = where[0] == "s3rdmafs"
            layer = where[1] if is_public else where[0]
            if not is_public and (path.parent / included).is_file():
                continue  # a neighbour
            if owner is None:
                wrong = not is_public and layer in rank and not (root / "tools" / inside[1] / included).is_file()
            elif inside[0] == "include":
                wrong = not is_public or rank.get(layer, len(rank)) > rank[owner]
            else:
                wrong = rank.get(layer, len(rank)) > rank[owner]
            if wrong:
                violations.append(f"{path.relative_to(root)} includes {included}")
    return violations


def build_order(root):
    """Meson builds the layers in the order of the table."""
    built = re.findall(r"^subdir\('(\w+)'\)", text_of(root / "src/meson.build"), re.MULTILINE)
    table = layer_order(root)
    return [] if built == table else [f"src/meson.build has {built}, src/README.md has {table}"]


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
    return [f"{path} has {n} lines" for n, path in lengths(root) if n > LINES_MAX]


def no_remote_hosts(root):
    """What runs names no host but this one: packages come from wherever the machine is set up for.

    XML name spaces and the reserved example domains are names, not places. A wrap names its project: wraps_are_pinned.
    """
    allowed = re.compile(r"(127\.0\.0\.1|localhost|\[::1\]|\$.*|\{.*|%s|s3\.amazonaws\.com"
                         r"|(.*\.)?(example|invalid|test)(\.(com|org|net))?)")
    violations = []
    for path in files(root, ".py", ".sh", "meson.build", ".ci/run", ".toml", ".service"):
        for number, line in enumerate(text_of(path).splitlines(), 1):
            for host in re.findall(r"\b(?:https?|ftp|git|ssh)://([^\s/'\"`:?#]+)", line):
                if not allowed.fullmatch(host):
                    violations.append(f"{path.relative_to(root)}:{number}: {host}")
    return violations


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


def no_leftovers(root):
    """Nothing is left for later in the source: an issue is the place for that."""
    words = r"\b(" + "|".join(("TO" "DO", "FIX" "ME", "HA" "CK")) + r")\b"
    return [found for path in files(root, ".cc", ".h", ".py", ".sh", ".build", ".md", ".scd", ".toml")
            for found in matches(root, path, text_of(path), words)]


def readme_commands(root):
    """Each script README.md tells the reader to run is there and can be run, each path it names exists."""
    text = text_of(root / "README.md")
    violations = []
    for script in sorted(set(re.findall(r"(?<![\w/])(?:\./)?((?:tools|\.ci)/[\w./-]*\w)", text))):
        path = root / script
        if not path.exists():
            violations.append(f"README.md names {script}, which is not there")
        elif path.suffix == ".sh" and not os.access(path, os.X_OK):
            violations.append(f"README.md names {script}, which cannot be run")
    for script, options in re.findall(r"(tools/[\w-]+\.sh)((?:[ \t]+[^\s`]+)*)", text):
        path = root / script
        known = text_of(path) if path.exists() else ""
        for option in re.findall(r"(?<=\s)--[\w-]+", options):
            if option not in known:
                violations.append(f"README.md says {script} {option}, which the script does not know")
    for link in re.findall(r"\]\((?![a-z]+:|#)([^)#]+)", text):
        if not (root / link).exists():
            violations.append(f"README.md links to {link}, which is not there")
    return violations


def mount_tests_told_of(root):
    """What tests/mount proves stands in tests/README.md, file by file."""
    readme = root / "tests/README.md"
    told = text_of(readme) if readme.exists() else ""
    return [f"tests/README.md does not tell of {path.relative_to(root)}"
            for path in sorted((root / "tests/mount").glob("*_test.py")) if f"`{path.name}`" not in told]
