# SPDX-License-Identifier: Apache-2.0
"""tools/bench/run.sh measures, judges, and leaves nothing behind. This suite does not judge the figures."""

import json
import mmap
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from harness.processes import eventually, mounts_below
from harness.settings import BUILD, ROOT

BENCH = ROOT / "tools/bench"
IO_URING = Path("/sys/module/fuse/parameters/enable_uring")

sys.path.insert(0, str(BENCH))
from driver import chart, contestants, measure, memory, report, rows, tour  # noqa: E402


def claim(**asked):
    return rows.Claim(rows.RATE, "null", **asked)


def work_of(*claims):
    return rows.Work("w", "a work", "none", rows.Files(1, 1, False),
                     {"s3rdmafs": rows.Side("ours", ""), "null": rows.Side("null-direct", "")}, claims)


def measured(*values, failure=""):
    return measure.Measured([{rows.RATE: value} for value in values], failure)


@pytest.mark.parametrize("asked, ours, holds", [
    ({"at_least": 0.9}, 0.9, True), ({"at_least": 0.9}, 0.89, False),
    ({"at_most": 1.25}, 1.25, True), ({"at_most": 1.25}, 1.26, False)])
def test_a_ratio_is_judged_by_medians(asked, ours, holds):
    sides = {"s3rdmafs": measured(0.01, ours, 99), "null": measured(0.5, 1, 1.5)}
    verdict, = measure.judge(work_of(claim(**asked)), sides)
    assert verdict.ratio == pytest.approx(ours)
    assert verdict.holds == holds


def test_a_figure_of_which_nothing_is_asked_is_shown_and_holds_if_there_is_one():
    work = work_of(claim())
    for ours, holds in ((measured(0.1), True), (measured(failure="it is not installed"), False)):
        sides = {"s3rdmafs": ours, "null": measured(1)}
        verdict, = measure.judge(work, sides)
        assert verdict.holds == holds
        row, = report.table_rows([(work, sides, [verdict])])
        assert row[-3:] == (["0.10", "-", "-"] if holds else ["-", "-", "not measured"])


def test_a_row_that_could_not_be_measured_does_not_hold_and_says_why():
    work = work_of(claim(at_least=0.9))
    sides = {"s3rdmafs": measured(1), "null": measured(failure="it is not installed")}
    verdicts = measure.judge(work, sides)
    assert not verdicts[0].holds
    text = report.markdown({}, [(work, sides, verdicts)], 1)
    assert "not measured" in text and "it is not installed" in text


def test_reports_name_the_rows_without_bytes():
    sides = {"s3rdmafs": measured(1), "null": measured(1)}
    work = work_of(claim(at_least=0.9))
    assert "Rows with `--dma none`: w." in report.markdown({}, [(work, sides, measure.judge(work, sides))], 1)


def test_every_row_compares_sides_it_has_and_contestants_there_are():
    known = contestants.Field(None, None).names()
    for scale in (rows.FULL, rows.QUICK, rows.TOUR):
        for work in rows.works(scale):
            assert {side.on for side in work.sides.values()} <= known, work.name
            for made in work.claims:
                assert made.ours in work.sides and made.against in (*work.sides, None), work.name
                assert made.metric in (*work.metrics, rows.DAEMON_CPU), work.name
                assert made.at_least is None or made.at_most is None, work.name


def test_the_tour_is_twelve_rows_of_the_table_that_need_no_pytorch():
    works = {work.name: work for work in rows.works(rows.TOUR)}
    assert len(tour.ROWS) == 12 and set(tour.ROWS) <= set(works)
    assert not [name for name in tour.ROWS for side in works[name].sides.values() if side.load.startswith("train")]


def test_the_chart_names_each_row_and_says_how_many_times_as_fast_ours_is():
    slower = replace(work_of(claim()), title="another <work>")
    faster = replace(work_of(claim()), sides={"s3rdmafs": rows.Side("ours", ""), "s3fs": rows.Side("s3fs", "")})
    picture = chart.svg([(faster, {"s3rdmafs": measured(6), "s3fs": measured(2)}, []),
                         (slower, {"s3rdmafs": measured(1), "null": measured(2)}, [])], "a machine")
    words = ["".join(element.itertext()) for element in ElementTree.fromstring(picture).iter() if element.tag.endswith("text")]
    assert {"a work", "another <work>", "3.0×", "50%", "6.00 GB/s", "a machine"} <= set(words)


def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE


def touched(size):
    memory_of_its_own = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory_of_its_own[::mmap.PAGESIZE] = bytes(size // mmap.PAGESIZE)
    return memory_of_its_own


def test_memory_that_runs_of_one_round_take_is_held_before_those_of_the_next_and_free_in_them():
    reserve, size = memory.Reserve(), memory.FIRST_BYTES * 2
    reserve.next_round(is_first=True)
    with reserve.let_go():
        taken = touched(size)
    taken.close()
    before = resident_bytes()
    reserve.next_round(is_first=False)
    assert resident_bytes() - before > size / 2
    with reserve.let_go():
        assert resident_bytes() - before < 0.1 * size
    reserve.take()
    assert resident_bytes() - before > size / 2


def driver(folder, *options):
    environment = {**os.environ, "PYTHONPATH": str(BENCH), "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(folder)}
    return subprocess.Popen([sys.executable, "-m", "driver", "--build", BUILD, "--out", folder / "out", *options],
                            env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def switch():
    return IO_URING.read_text() if IO_URING.exists() else ""


@pytest.mark.needs_fuse
@pytest.mark.needs_root
def test_a_run_measures_both_sides_and_its_status_is_the_verdict(tmp_path):
    before = switch()
    process = driver(tmp_path, "--tour", "--runs", "1", "--rows", "^sequential-direct$")
    out, err = process.communicate(timeout=300)
    result = json.loads((tmp_path / "out/report.json").read_text())
    work = result["works"][0]
    for label in ("s3rdmafs", "null"):
        assert work["sides"][label]["failure"] == "", err
        assert work["sides"][label]["runs"][0]["GB/s"] > 0
    all_hold = all(one["holds"] for each in result["works"] for one in each["claims"])
    assert process.returncode == (0 if all_hold else 1), out + err
    assert "<svg" in (tmp_path / "out/report.html").read_text()
    assert "--dma none" in (tmp_path / "out/report.md").read_text()
    assert "<svg" in (tmp_path / "out/tour.svg").read_text()
    assert "a fresh page: " in out and "a fresh page: " in (tmp_path / "out/report.md").read_text()
    assert min(result["fresh_page_s_per_gb"].values()) > 0
    assert switch() == before


@pytest.mark.needs_fuse
@pytest.mark.needs_root
def test_a_run_that_is_stopped_ends_what_it_started(tmp_path):
    """The fixtures look for mounts and processes that are left."""
    before = switch()
    process = driver(tmp_path, "--quick", "--runs", "50", "--rows", "^sequential-direct$")
    eventually(lambda: len(mounts_below(tmp_path)) >= 3, 60, "its tmpfs and both mounts are there")
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1 and "stopped" in err
    assert not mounts_below(tmp_path) and not list(tmp_path.glob("s3rdmafs-bench-*"))
    assert switch() == before
