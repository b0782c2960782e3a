# SPDX-License-Identifier: Apache-2.0
"""The rows of names: listings and stat(2) of large folders, on mounts that know none of them yet."""

from dataclasses import dataclass

from .data import Files, Tree
from .work import KIB, OPS, PER_INODE, SECONDS, Claim, Side, Work


@dataclass(frozen=True)
class Scale:
    large: int         # files of the largest folder
    many: Tree         # folders of which only the names are asked for
    storm: int         # files of the folder that rivals list too
    walk: Tree         # folders whose files are asked for their sizes
    rivals_walk: Tree  # the same for rivals


FULL = Scale(large=100_000, many=Tree(1000, 1000, KIB), storm=20_000, walk=Tree(50, 1000, KIB),
             rivals_walk=Tree(20, 1000, KIB))
QUICK = Scale(large=10_000, many=Tree(50, 1000, KIB), storm=2000, walk=Tree(50, 1000, KIB),
              rivals_walk=Tree(10, 200, KIB))

LATE = 0.3  # as long as the pages one after another, where siblings are listed side by side


def works(scale):
    def row(name, title, files, sides, claims, metrics=(SECONDS,)):
        return Work(name, title, "copy", files, sides, claims, fresh=True, metrics=metrics)

    def files(count):
        return Files(count, KIB, real=False)

    def everyone(load):
        return {"s3rdmafs": Side("ours-names", load), "s3fs": Side("s3fs", load), "rclone": Side("rclone", load)}

    def listed(count):
        return f"tree ls --expect {count} {{folder}}"

    def walked(tree, sizes=""):
        return f"tree find {sizes} --expect {tree.count} {{folder}}"
    five_times = tuple(Claim(OPS, rival, at_least=5) for rival in ("s3fs", "rclone"))
    pages, late = Side("raw-shm", "list {folder}"), Side("raw-late", "list {folder}")
    storm = f"tree stat --files {scale.storm} --processes 8 {{folder}}"
    return [
        row("ls-large", f"ls -l of {scale.large} files", files(scale.large),
            {"s3rdmafs": Side("ours-names", listed(scale.large)), "raw pages": pages},
            (Claim(SECONDS, "raw pages", at_most=1.5), Claim(PER_INODE, None, at_most=KIB)),
            metrics=(SECONDS, PER_INODE)),
        row("find-many", f"find over {scale.many.count} keys in {scale.many.folders} folders", scale.many,
            {"s3rdmafs": Side("ours-names", walked(scale.many)), "raw pages": pages},
            (Claim(SECONDS, "raw pages", at_most=2),)),
        row("find-late", f"find over {scale.walk.count} keys in {scale.walk.folders} folders, answers 20 ms late",
            scale.walk, {"s3rdmafs": Side("ours-late", walked(scale.walk)), "raw pages": late},
            (Claim(SECONDS, "raw pages", at_most=LATE),)),
        row("ls-rivals", f"ls -l of {scale.storm} files", files(scale.storm), everyone(listed(scale.storm)),
            five_times, metrics=(OPS,)),
        row("find-rivals", f"find with sizes, {scale.rivals_walk.count} files in {scale.rivals_walk.folders} folders",
            scale.rivals_walk, everyone(walked(scale.rivals_walk, "--sizes")), five_times, metrics=(OPS,)),
        row("stat-storm", f"stat of {scale.storm} files by 8 processes", files(scale.storm), everyone(storm),
            five_times, metrics=(OPS,)),
        row("ls-writing", f"ls -l of {scale.storm} files on a mount that writes", files(scale.storm),
            writing_or_not(listed(scale.storm)), (Claim(SECONDS, "read-only", at_most=1.1),)),
        row("find-writing", f"find with sizes, {scale.walk.count} files, on a mount that writes", scale.walk,
            writing_or_not(walked(scale.walk, "--sizes")), (Claim(SECONDS, "read-only", at_most=1.1),)),
    ]


def writing_or_not(load):
    return {"s3rdmafs": Side("ours-staged", load), "read-only": Side("ours-names", load)}
