# SPDX-License-Identifier: Apache-2.0
"""The dashboard shows a mount at work: a real Prometheus scrapes it, and each query of each panel has numbers. build/dashboard.png
is what they look like."""

import json
import os
import time

import pytest
from harness.processes import ReservedPort
from harness.settings import BUILD, ROOT
from harness.units import MIB
from prometheus import Prometheus, draw, legend

pytestmark = [pytest.mark.needs_fuse, pytest.mark.needs("prometheus")]

BUCKET = "watched"
# Before and after an outage of the server: a few windows of the rates each.
WORK_S = 6
PAUSE_S = 0.1


@pytest.fixture
def ended():
    """Things with a method `end`, ended last first."""
    made = []
    yield made
    while made:
        made.pop().end()


def work(mounted, seconds, part):
    """Reads, writes, looks for what is not there; never the same file."""
    end, number = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        (mounted / f"{part}-{number}/f").read_bytes()
        (mounted / f"{part}-new{number}").write_bytes(os.urandom(MIB))
        assert not (mounted / f"{part}-missing{number}").exists()
        number += 1
        time.sleep(PAUSE_S)


def test_each_query_of_the_dashboard_has_numbers_of_a_mount_at_work(site, tmp_path, ended):
    pytest.importorskip("matplotlib", reason="python3-matplotlib is not installed (tools/setup.sh installs it)")
    # One of five reads by RDMA is declined, and one of seven fails and is sent again.
    target = site.target("--fault", "decline@get@/5", "--fault", "no-reply@put@/4", "--fault", "cut-before@get@/7", bucket=BUCKET)
    for number in range(int(WORK_S / PAUSE_S)):
        for part in ("before", "after"):
            folder = target.root / BUCKET / f"{part}-{number}"
            folder.mkdir()
            (folder / "f").write_bytes(os.urandom(MIB))
    port = ReservedPort()
    ended.append(port)
    mounted = site.mount(target, BUCKET, rdma={"mode": "prefer"}, write={"mode": "sequential"}, retry={"deadline": "2s"},
                         metrics={"listen": f"127.0.0.1:{port.number}"})
    prometheus = Prometheus(tmp_path / "prometheus", [f"127.0.0.1:{port.number}"])
    ended.append(prometheus)
    prometheus.wait_until_it_scrapes()
    begin = time.time()
    work(mounted, WORK_S, "before")
    target.kill()
    with pytest.raises(OSError):
        (mounted / "after-0/f").read_bytes()
    target.start()
    work(mounted, WORK_S, "after")
    dashboard = json.loads((ROOT / "packaging/grafana/s3rdmafs.json").read_text())
    panels, empty = [], []
    for panel in dashboard["panels"]:
        curves = []
        for query in panel["targets"]:
            found = prometheus.values(query["expr"], begin, time.time())
            curves += [(legend(query.get("legendFormat", ""), labels), values) for labels, values in found]
            if not any(value for _, values in found for _, value in values):
                empty.append((panel["title"], query["expr"]))
        panels.append((panel, curves))
    draw(BUILD / "dashboard.png", panels)
    # No read waited for memory, and that is as it should be.
    assert [title for title, query in empty if "cache_reads_waiting" not in query] == [], empty
    assert len(panels) > 10
    assert not prometheus.values('rate(s3rdmafs_get_bytes{instance=~"$instance"}[$__rate_interval])', begin, time.time()), \
        "the control: a name that does not exist has no numbers"
