# SPDX-License-Identifier: Apache-2.0
"""What documents promise: scripts that run, links that lead somewhere, tests that are told of, defaults."""

import os
import re

from tree import place, text_of


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
    """tests/mount/README.md tells what each file of tests/mount proves."""
    readme = root / "tests/mount/README.md"
    told = text_of(readme) if readme.exists() else ""
    return [f"tests/mount/README.md does not tell of {path.relative_to(root)}"
            for path in sorted((root / "tests/mount").rglob("*_test.py")) if f"`{path.name}`" not in told]


def folder_readmes(root):
    """Each folder directly below src, tools and tests, and the other folders at the top, have a README.md."""
    folders = [root / name for name in ("include", "packaging", "man", "src", "tests")]
    for parent in ("src", "tools", "tests"):
        folders += [path for path in sorted((root / parent).glob("*")) if path.is_dir() and path.name != "__pycache__"]
    return [f"{folder.relative_to(root)} has no README.md"
            for folder in folders if folder.is_dir() and any(folder.rglob("*.*")) and not (folder / "README.md").exists()]


_KEY = re.compile(r'\{\s*"(\w+)",\s*"(\w+)",(.*?)(?=\n    \{\s*"|\Z)', re.DOTALL)
_STANDARD = re.compile(r'Default\{\s*"([^"]*)"')
# "*retry.deadline* (30s by default)", "`disk.size` (default 256 MiB)", "*retry.deadline*, 30 s by default".
_SAID = re.compile(r"[*`]([a-z_]+)\.([a-z_]+)[*`][\s,(]+(?:by\s+default:?\s+|the\s+default:?\s+|default:?\s+)?[*`\"]*"
                   r"(\d+)\s?(ms|s|m|min|h|KiB|MiB|GiB|TiB|KB|MB|GB)\b[*`\"]*(\s+by\s+default|\s+unless)?")
_SPELLED = {"min": "m"}


def _defaults(root):
    """{section.key: default} of src/config/keys."""
    text = "\n".join(text_of(path) for path in sorted((root / "src/config/keys").glob("*.cc")))
    return {f"{section}.{key}": found.group(1)
            for section, key, rest in _KEY.findall(text) if (found := _STANDARD.search(rest))}


def _said_defaults(text):
    """[(position, key, default)] that a text tells."""
    for found in _SAID.finditer(text):
        if "default" in found.group(0) or "unless" in found.group(0):
            section, key, number, unit = found.groups()[:4]
            yield found.start(), f"{section}.{key}", number + _SPELLED.get(unit, unit)
    section = key = ""
    at = 0
    for line in text.splitlines(keepends=True):
        if found := re.match(r"## \[(\w+)\]", line):
            section = found.group(1)
        elif line.startswith("# "):
            section = ""
        elif found := re.match(r"\*(\w+)\* = ", line):
            key = found.group(1)
        elif section and (found := re.match(r"\tDefault: \*(\d+\w+)\*", line)):
            yield at, f"{section}.{key}", found.group(1)
        at += len(line)


def defaults_in_pages(root):
    """A duration or size that a manual page or README.md gives as a key's default is that of the schema."""
    defaults = _defaults(root)
    violations = []
    for path in [*sorted((root / "man").glob("*.scd")), root / "README.md", *sorted((root / "src").rglob("README.md"))]:
        text = text_of(path) if path.exists() else ""
        for at, key, said in _said_defaults(text):
            if said != defaults.get(key, "absent"):
                violations.append(f"{place(root, path, 1, text, at)}: {key} is {said} here, {defaults.get(key, 'absent')} "
                                  "in src/config/keys")
    return violations
