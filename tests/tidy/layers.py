# SPDX-License-Identifier: Apache-2.0
"""Which folder may include which: the layers of src, and the order of the folders inside one."""

import re

from tree import cpp_files, text_of


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
            owner = inside[2].removesuffix(".h")  # client.h, which programs include, is of the layer client
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
            layer = where[1].removesuffix(".h") if is_public else where[0]
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


def _order_of(readme):
    """The names of a line "Order: store.h, wire, http": sub-folders, and files of the folder that these may include.

    Other files of the folder come last, or where a "." stands.
    """
    found = re.search(r"^Order: (.+?)\.?$", text_of(readme), re.MULTILINE)
    if not found:
        return []
    order = [name.strip(" `/") or "." for name in found.group(1).split(",")]
    return order if "." in order else [*order, "."]


def _rank_of(path, folder, rank):
    """The place of a file in its folder's order."""
    parts = path.relative_to(folder).parts
    if len(parts) > 1:
        return rank.get(parts[0], len(rank))
    # store.cc comes where store.h does.
    return rank.get(path.name, rank.get(f"{path.stem}.h", rank["."]))


def folder_order(root):
    """Where the README of a folder of src has a line "Order:", its sub-folders include only what stands before them."""
    violations = []
    for readme in sorted((root / "src").rglob("README.md")):
        folder, order = readme.parent, _order_of(readme)
        if not order or folder == root / "src":
            continue
        rank = {name: place for place, name in enumerate(order)}
        subfolders = {path.name for path in folder.iterdir() if path.is_dir()}
        violations += [f"{readme.relative_to(root)} orders {name}, which is not there"
                       for name in rank if name != "." and not (folder / name).exists()]
        violations += [f"{readme.relative_to(root)} does not order {name}" for name in sorted(subfolders - set(rank))]
        for path in cpp_files(folder):
            for included in re.findall(r'^\s*#\s*include\s+"([^"]+)"', text_of(path), re.MULTILINE):
                target = root / "src" / included
                if target.is_relative_to(folder) and _rank_of(target, folder, rank) > _rank_of(path, folder, rank):
                    violations.append(f"{path.relative_to(root)} includes {included}")
    return violations
