# SPDX-License-Identifier: Apache-2.0
"""Does a work: every side in turn, round by round, so that all see the same weather."""

import contextlib
import json
import statistics
import sys
from dataclasses import dataclass, field

from .data import Files
from .foreign_load import ForeignLoad
from .processes import Failure, run
from .work import DAEMON_CPU, EPOCHS, FETCHED, LATENCY, OPS, PER_INODE, RATE, SECONDS, SENT

FOREIGN = "cores used by others"

# One measurement that takes longer has hung or is hopeless.
RUN_SECONDS = 300

# Of a work whose runs take longer than this, so many count at most: noise is less of a long run, and time is dear.
LONG_SECONDS, LONG_RUNS = 3, 3


@dataclass
class Measured:
    """The figures of one side of a work, run by run; `failure` where it could not do the work."""
    runs: list = field(default_factory=list)  # {metric: value}
    failure: str = ""

    def values(self, metric):
        return [one[metric] for one in self.runs if one.get(metric) is not None]

    def median(self, metric):
        values = self.values(metric)
        return statistics.median(values) if values else None


@dataclass
class Verdict:
    claim: object
    ratio: float | None  # None: could not be measured
    holds: bool


def say(text):
    print(text, file=sys.stderr, flush=True)


def folder_of(work, label, number):
    """Sides of a cold work share no names: two of them may be the same mount."""
    return f"{work.name}/{label.replace(' ', '-')}/{number}" if not work.shares_names else work.name


def make_data(data, work, rounds):
    if work.source:
        for side in work.sides.values():
            data.source(side.source or work.source)
    if work.shares_names:
        data.make(work.name, work.files)
        return
    for label, side in work.sides.items():
        for number in range(rounds):
            data.make(folder_of(work, label, number), side.files or work.files)


def _words(place, work, side, contestant, folder):
    files = side.files or work.files
    if side.on.startswith("raw"):  # keys instead of paths
        base = folder
    else:
        base = contestant.point / folder
    names = [f"{base}/f{number:05}" for number in range(files.count)] if isinstance(files, Files) else []
    known = {"folder": base, "first": names[0] if names else "",
             "source": place.data.source(side.source or work.source) if work.source else ""}
    words = []
    for word in side.load.split():
        words += names if word == "{files}" else [word.format(**known)]
    return words


def _command(place, side, contestant, words):
    first, *rest = words
    past_fuse = [place.programs["s3rdmafs"], "run", "--"] if side.past_fuse else []
    if side.on.startswith("raw"):
        program = "raw_put" if first == "put" else "raw_get"
        return [place.programs[program], *([] if first == "put" else [first]), *contestant.arguments, *rest]
    if first in ("train", "tree"):
        return [*past_fuse, sys.executable, place.programs[first], *rest]
    return [*past_fuse, place.programs["read_load"], *words]


def _per(amount, of):
    return amount / of if amount is not None and of else None


def _grown(after, before, name):
    return after[name] - before[name] if name in after else None


def _once(place, work, side, contestant, folder):
    command = _command(place, side, contestant, _words(place, work, side, contestant, folder))
    before = contestant.counters()
    foreign = ForeignLoad()
    beside = contestant.beside(place.work / f"{work.name}.trace") if side.traced else contextlib.nullcontext()
    try:
        with beside, place.reserve.let_go():
            text = run(*command, seconds=RUN_SECONDS)
    except Failure:
        contestant.cpu_seconds()  # says so where its daemon is gone, which explains the rest
        raise
    others = foreign.cores_used()
    after = contestant.counters()
    try:
        done = json.loads(text)
    except json.JSONDecodeError:
        raise Failure(f"no result but {text[:200]!r}") from None
    gigabytes = done["bytes"] / 1e9
    result = {RATE: gigabytes / done["seconds"], OPS: done["ops"] / done["seconds"], SECONDS: done["seconds"],
              LATENCY: done["p50_us"] or None,
              DAEMON_CPU: _per(_grown(after, before, "cpu"), gigabytes) if contestant.process else None,
              "reader CPU s/GB": _per(done["cpu_seconds"], gigabytes), FOREIGN: others,
              FETCHED: _per(_grown(after, before, "fetched"), done["bytes"]),
              SENT: _per(_grown(after, before, "sent"), done["bytes"]),
              PER_INODE: _per(_grown(after, before, "resident"), _grown(after, before, "inodes"))}
    result |= zip(EPOCHS, done.get("samples_per_s", ()))
    return result


def _make_resident(contestants, work):
    """For mounts that can be told to. Others become warm in the round that does not count."""
    for label, side in work.sides.items():
        try:
            contestants[side.on].make_resident(work.name)
        except Failure as failure:
            say(f"  {label}: cannot be made resident: {failure}")


def _let_go(contestants, work):
    for side in work.sides.values():
        try:
            contestants[side.on].let_go(work.name)
        except Failure:
            pass  # it failed before, and was told of


def do(place, contestants, work, rounds):
    """{label: Measured}. The first round warms up and does not count."""
    measured = {label: Measured() for label in work.sides}
    longest_s = 0
    is_warm = not work.cold and not work.fresh
    if is_warm:
        _make_resident(contestants, work)
    for number in range(rounds):
        if number > LONG_RUNS and longest_s > LONG_SECONDS:
            break
        place.reserve.next_round(is_first=number == 0)
        for label, side in work.sides.items():
            one = measured[label]
            if one.failure:
                continue
            folder = folder_of(work, label, number)
            try:
                if work.fresh:
                    contestants.renew(side.on)
                contestant = contestants[side.on]
                result = _once(place, work, side, contestant, folder)
                longest_s = max(longest_s, result[SECONDS])
                if work.writes:
                    place.data.remove(folder)
                elif contestant.point and work.cold and not work.fresh and side.on != "tmpfs":
                    run(place.programs["read_load"], "drop", contestant.point / folder, seconds=RUN_SECONDS)
                place.reserve.take()
            except Failure as failure:
                one.failure, one.runs = str(failure), []
                say(f"  {label}: {failure}")
                continue
            if number > 0:
                one.runs.append(result)
    if is_warm:
        _let_go(contestants, work)
    for label, one in measured.items():
        if one.runs:
            say(f"  {label:12} " + "  ".join(f"{metric} {one.median(metric):.3g}" for metric in work.metrics
                                             if one.median(metric) is not None))
    return measured


def judge(work, measured):
    verdicts = []
    for claim in work.claims:
        ours = measured[claim.ours].median(claim.metric)
        theirs = measured[claim.against].median(claim.metric) if claim.against else 1.0
        ratio = ours / theirs if ours is not None and theirs else None
        verdicts.append(Verdict(claim, ratio, ratio is not None and claim.holds(ratio)))
    return verdicts
