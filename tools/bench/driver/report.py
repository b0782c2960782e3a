# SPDX-License-Identifier: Apache-2.0
"""The same result three times: for programs (JSON), for a terminal (Markdown) and for a person (HTML)."""

import json
from dataclasses import asdict

from . import plots
from .foreign_load import CORES_WORTH_SAYING
from .measure import FOREIGN, LONG_RUNS, LONG_SECONDS


def _figure(measured, metric):
    """Median and spread, as text."""
    if measured.failure:
        return "not measured"
    values = measured.values(metric)
    if not values:
        return "-"
    return f"{measured.median(metric):.3g} [{min(values):.3g}-{max(values):.3g}]"


def _asked(claim):
    if claim.at_least is None and claim.at_most is None:
        return "-"
    return f"≥ {claim.at_least:g}" if claim.at_least is not None else f"≤ {claim.at_most:g}"


def _verdict(verdict):
    if verdict.ratio is None:
        return "not measured"
    if _asked(verdict.claim) == "-":
        return "-"
    return "holds" if verdict.holds else "**falls short**"


def table_rows(results):
    """[work, dma, metric, ours, whom, theirs, ratio, asked, verdict] for each claim, as text."""
    for work, measured, verdicts in results:
        for verdict in verdicts:
            claim = verdict.claim
            title = work.title + ("" if claim.ours == "s3rdmafs" else f" ({claim.ours})")
            yield [title, work.dma or "-", claim.metric, _figure(measured[claim.ours], claim.metric),
                   claim.against or "-",
                   _figure(measured[claim.against], claim.metric) if claim.against else "-",
                   "-" if verdict.ratio is None else f"{verdict.ratio:.2f}", _asked(claim), _verdict(verdict)]


HEADINGS = ["work", "dma", "measure", "s3rdmafs", "against", "its figure", "ratio", "asked", "verdict"]

NOTES = """Medians of {runs} runs after one warm-up, of {long_runs} where a run takes longer than {long_s} s; contestants in turn; in
brackets the lowest and the highest.
GB = 10^9 bytes. `dma none`: the server answered at once and moved no bytes, as a NIC moves them without this
machine's processors; `dma copy`: the server's processor time is spent on the same cores. On two virtual processors,
where a wake-up costs ten times what it does on bare metal, absolute figures are pessimistic: read the ratios."""


def _notes(runs):
    return NOTES.format(runs=runs, long_runs=min(runs, LONG_RUNS), long_s=LONG_SECONDS)


def _failures(results):
    return [f"{work.name}, {label}: {one.failure}" for work, measured, _ in results
            for label, one in measured.items() if one.failure]


def _disturbed(results):
    """Works that were measured while others kept the processors busy."""
    for work, measured, _ in results:
        cores = max((one.median(FOREIGN) or 0 for one in measured.values()), default=0)
        if cores > CORES_WORTH_SAYING:
            yield f"{work.name}: {cores:.1f} cores"


def markdown(machine, results, runs):
    lines = ["# Benchmarks of s3rdmafs", "", *(f"* {name}: {text}" for name, text in machine.items()), "",
             _notes(runs), "", "| " + " | ".join(HEADINGS) + " |", "|" + "---|" * len(HEADINGS)]
    lines += ["| " + " | ".join(row) + " |" for row in table_rows(results)]
    without_bytes = [work.name for work, _, _ in results if work.dma == "none"]
    lines += ["", "Rows with `--dma none`: " + (", ".join(without_bytes) or "none") + "."]
    if failures := _failures(results):
        lines += ["", "Could not be measured:", "", *(f"* {line}" for line in failures)]
    if disturbed := list(_disturbed(results)):
        lines += ["", "Measured while other programs used the processors, so to be measured again on a quiet machine: "
                  + ", ".join(disturbed) + "."]
    return "\n".join(lines) + "\n"


def as_json(machine, results, runs, fresh):
    return json.dumps({
        "machine": machine, "runs": runs, "fresh_page_s_per_gb": asdict(fresh),
        "works": [{"name": work.name, "title": work.title, "dma": work.dma,
                   "sides": {label: {"runs": one.runs, "failure": one.failure} for label, one in measured.items()},
                   "claims": [{"metric": v.claim.metric, "against": v.claim.against, "ratio": v.ratio,
                               "at_least": v.claim.at_least, "at_most": v.claim.at_most, "holds": v.holds}
                              for v in verdicts]}
                  for work, measured, verdicts in results]}, indent=1)


def write(folder, machine, results, runs, fresh):
    """`fresh`: memory.FreshPage"""
    machine = {**machine, "a fresh page": str(fresh)}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.json").write_text(as_json(machine, results, runs, fresh))
    (folder / "report.md").write_text(markdown(machine, results, runs))
    (folder / "report.html").write_text(
        plots.page(machine, results, _notes(runs), HEADINGS, list(table_rows(results))))


def terminal(results):
    """The table with its columns in line."""
    rows = [HEADINGS, *table_rows(results)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)
