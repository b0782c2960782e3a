# SPDX-License-Identifier: Apache-2.0
"""The rows of writes. Each run stores under new names, which are removed at the server after it."""

from dataclasses import dataclass

from .data import Files
from .work import DAEMON_CPU, GIB, KIB, MIB, OPS, RATE, SENT, Claim, Side, Work

NOTHING = Files(1, 0, real=False)  # a folder without a file is none
PART = 8 * MIB  # write.part_size of a mount that says nothing else


@dataclass(frozen=True)
class Scale:
    small_files: int
    stream: int
    staged: int
    rewritten: int  # bytes of the object
    rewrites: int
    copied_files: int
    renamed: int
    rival_files: int    # of new files; a rate needs no more
    rival_renamed: int
    rival_copied: int


FULL = Scale(small_files=10_000, stream=8 * GIB, staged=GIB, rewritten=4 * GIB, rewrites=10_000, copied_files=2000,
             renamed=GIB, rival_files=2000, rival_renamed=256 * MIB, rival_copied=400)
QUICK = Scale(small_files=1000, stream=GIB, staged=256 * MIB, rewritten=512 * MIB, rewrites=100, copied_files=200,
              renamed=256 * MIB, rival_files=500, rival_renamed=64 * MIB, rival_copied=100)


def works(scale):
    def row(name, title, sides, claims, files=NOTHING, metrics=(RATE,), dma="copy", **more):
        return Work(name, title, dma, files, sides, claims, writes=True, metrics=metrics, **more)
    create, create_few = (f"tree create --files {count} --size 4096 --writers 8 {{folder}}"
                          for count in (scale.small_files, scale.rival_files))
    write = f"tree write --size {scale.stream} {{first}}"
    staged = f"tree write --size {scale.staged} --before-close {{folder}}/new"
    copy = "tree copy {source} {folder}"
    rename, rename_less = (f"tree rename --size {size} {{folder}}" for size in (scale.renamed, scale.rival_renamed))
    megabytes = Files(scale.copied_files, 1_000_000, real=True)
    ours = Side("ours-staged", create)
    return [
        row("create", f"{scale.small_files} new files of 4 KiB by 8 writers",
            {"s3rdmafs": ours, "sequential": Side("ours-sequential", create),
             "raw client": Side("raw-shm", f"put --files {scale.small_files} --size 4096 --parallel 8 {{folder}}"),
             "s3fs": Side("s3fs-writing", create_few), "rclone": Side("rclone-writing", create_few)},
            (*bounds(OPS, "s3rdmafs"), *bounds(OPS, "sequential")), metrics=(OPS,), small=True),
        row("write-stream", f"sequential write of {scale.stream // MIB} MiB, 1 writer",
            {"s3rdmafs": Side("ours-stream", write), "null": Side("null-sink", write)},
            (Claim(RATE, "null", at_least=0.85),), files=Files(1, 0, real=False), metrics=(RATE, DAEMON_CPU),
            dma="none"),
        row("write-staged", f"write of {scale.staged // MIB} MiB into a new file, before close",
            {"s3rdmafs": Side("ours-staged", staged), "tmpfs": Side("tmpfs", staged)},
            (Claim(RATE, "tmpfs", at_least=0.8),), metrics=(RATE, DAEMON_CPU)),
        row("rewrite", f"{scale.rewrites} random writes of 4 KiB into {scale.rewritten // MIB} MiB, then close",
            {"s3rdmafs": Side("ours-staged",
                              f"tree rewrite --writes {scale.rewrites} --part {PART} {{first}}")},
            (Claim(SENT, None, at_most=1.1),), files=Files(1, scale.rewritten, real=False), metrics=(SENT,)),
        row("copy", f"cp -r of {scale.copied_files} files of 1 MB",
            {"s3rdmafs": Side("ours-staged", copy),
             "raw client": Side("raw-shm", f"put --files {scale.copied_files} --size 1000000 --parallel 1 {{folder}}"),
             "s3fs": Side("s3fs-writing", copy, source=Files(scale.rival_copied, 1_000_000, real=True))},
            (Claim(OPS, "raw client", at_least=0.5), Claim(OPS, "s3fs", at_least=3)), source=megabytes,
            metrics=(OPS,), small=True),
        row("rename", f"write, close and rename of {scale.renamed // MIB} MiB",
            {"s3rdmafs": Side("ours-staged", rename), "RenameObject": Side("ours-renames", rename),
             "s3fs": Side("s3fs-writing", rename_less), "rclone": Side("rclone-writing", rename_less)},
            (*(Claim(RATE, rival, at_least=3) for rival in ("s3fs", "rclone")),
             *(Claim(RATE, rival, ours="RenameObject") for rival in ("s3fs", "rclone")))),
    ]


def bounds(metric, ours):
    return (Claim(metric, "raw client", at_least=0.5, ours=ours),
            *(Claim(metric, rival, at_least=3, ours=ours) for rival in ("s3fs", "rclone")))
