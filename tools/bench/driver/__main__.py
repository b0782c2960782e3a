# SPDX-License-Identifier: Apache-2.0
"""tools/bench/run.sh [--tour | --quick] [--rows REGEX] [--runs N] [--transport auto|dev|uring] [--out DIR] [--build DIR]"""

import argparse
import contextlib
import dataclasses
import os
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path

from . import chart, io_uring, machine, memory, report, rows, tour
from .contestants import Field, Place
from .data import Data, Files
from .measure import Measured, do, judge, make_data, say
from .processes import Failure, raise_on_signals, run, unmount
from .work import Claim, Work

ROOT = Path(__file__).resolve().parents[3]
RESIDENT = "resident set / (cache + 128 MiB)"


def arguments():
    parser = argparse.ArgumentParser(prog="tools/bench/run.sh", description="Benchmarks of a mount, and the verdict.")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--tour", action="store_true", help="the twelve rows that tell most, and a picture of them")
    size.add_argument("--quick", action="store_true", help="all rows, with smaller files and fewer runs")
    parser.add_argument("--rows", metavar="REGEX", default="", help="only works whose name it is found in")
    parser.add_argument("--runs", type=int, help="counted runs of each work (default 5; 3 of a tour and with --quick)")
    parser.add_argument("--transport", choices=("auto", "dev", "uring"), default="auto",
                        help="mount.transport of our mount (default: what it chooses by itself)")
    parser.add_argument("--out", metavar="DIR", type=Path, help="where the reports go (default: BUILD/bench)")
    parser.add_argument("--build", metavar="DIR", type=Path, default=ROOT / "build", help="build folder")
    parser.add_argument("--list", action="store_true", help="print the works' names and exit")
    return parser.parse_args()


def programs(build):
    found = {"s3rdmafs": build / "src/daemon/s3rdmafs", "s3rdma-target": build / "tools/target/s3rdma-target",
             "train": ROOT / "tools/bench/train.py", "tree": ROOT / "tools/bench/tree_load.py",
             **{name: build / "tools/bench" / name for name in ("read_load", "null_fs", "raw_get", "raw_put")}}
    for path in found.values():
        if not path.exists():
            raise Failure(f"{path} is not built")
    return found


def scratch(stack):
    """A folder on a huge-page tmpfs of its own; all of it is gone with the stack."""
    folder = Path(tempfile.mkdtemp(prefix="s3rdmafs-bench-"))
    stack.callback(shutil.rmtree, folder, ignore_errors=True)
    files = folder / "files"
    files.mkdir()
    # 80 %: what the objects may take; the caches of the contestants are beside it.
    run("mount", "-t", "tmpfs", "-o", "size=80%,nr_inodes=0,huge=always", "s3rdmafs-bench", files)
    stack.callback(unmount, files)
    return files


def resident_set(field):
    """A work of its own in the report: what every mount of ours had resident at most, over the whole run."""
    measured = {}
    for name, one in field.of_ours().items():
        try:
            measured[name] = Measured(runs=[{RESIDENT: field.resident_over_budget(name, one)}])
        except Failure as failure:
            measured[name] = Measured(failure=str(failure))
    work = Work("resident-set", "peak resident set over the whole run", "", Files(0, 0, False), {},
                tuple(Claim(RESIDENT, None, at_most=1.0, ours=name) for name in measured),
                metrics=(RESIDENT,))
    return work, measured, judge(work, measured)


def measure_all(options, scale, chosen):
    """(results, what a fresh page costs)"""
    results = []
    with contextlib.ExitStack() as stack:
        if options.transport != "dev":
            stack.enter_context(io_uring.switched_on())
        folder = scratch(stack)
        fresh = memory.fresh_page(folder)
        place = Place(folder, programs(options.build), Data(folder, options.build / "tools/bench/read_load"),
                      scale.cache, options.transport, memory.Reserve())
        rounds = scale.runs + 1
        say(f"making the objects of {len(chosen)} works")
        for work in chosen:
            make_data(place.data, work, rounds)
        field = Field(stack, place)
        # The null file systems last: ours may have raised what the kernel allows a mount.
        for name in sorted({side.on for work in chosen for side in work.sides.values()},
                           key=lambda name: (name.startswith("null"), name)):
            with contextlib.suppress(Failure):  # said by the work that needs it
                field[name]
        for work in chosen:
            say(f"{work.name}: {work.title}")
            run("mount", "-o", f"remount,huge={'never' if work.small else 'always'}", folder)
            began = time.monotonic()
            measured = do(place, field, work, rounds)
            say(f"  {time.monotonic() - began:.0f} s")
            results.append((work, measured, judge(work, measured)))
        results.append(resident_set(field))
    return results, fresh


def chosen_works(options):
    """(scale, works)"""
    scale = rows.TOUR if options.tour else rows.QUICK if options.quick else rows.FULL
    if options.runs:
        scale = dataclasses.replace(scale, runs=options.runs)
    return scale, [work for work in rows.works(scale)
                   if re.search(options.rows, work.name) and (work.name in tour.ROWS or not options.tour)]


def main():
    options = arguments()
    scale, chosen = chosen_works(options)
    if options.list:
        print("\n".join(work.name for work in chosen))
        return 0
    if not chosen:
        raise Failure(f"no work's name matches {options.rows!r}; --list shows them")
    if os.geteuid() != 0:
        raise Failure("run it as root: it mounts a huge-page tmpfs, and passthrough and read-ahead need the right too")
    raise_on_signals()
    described = {**machine.describe(ROOT), "transport asked for": options.transport}
    results, fresh = measure_all(options, scale, chosen)
    out = options.out or options.build / "bench"
    report.write(out, described, results, scale.runs, fresh)
    print(report.terminal(results))
    print(f"\na fresh page: {fresh}")
    print(f"reports: {out}/report.json, report.md, report.html")
    if options.tour:
        (out / "tour.svg").write_text(chart.svg(results, f"{described['processor']}, {described['commit']}"))
        print(f"a picture: {out}/tour.svg")
    short = [verdict for _, _, verdicts in results for verdict in verdicts if not verdict.holds]
    print(f"{len(short)} of {sum(len(verdicts) for _, _, verdicts in results)} ratios fall short")
    return 1 if short else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as failure:
        sys.exit(f"run.sh: {failure}")
    except KeyboardInterrupt:
        sys.exit("run.sh: stopped; everything it started is ended")
