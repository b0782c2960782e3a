# SPDX-License-Identifier: Apache-2.0
"""A mount tells of itself: latencies that equal what a client of its own measures, JSON as the schema says, scrapes by
users other than the mount's, a dashboard of numbers that exist, structured logs."""

import http.client
import json
import os
import re
import socket
import subprocess
import time

import pytest
from harness.mount import COMMAND_SECONDS, MountFailed, parse_prometheus, total
from harness.processes import eventually
from harness.settings import ROOT
from harness.units import MIB

pytestmark = pytest.mark.needs_fuse

BUCKET = "insight"
DELAY_S = 0.4
# A duration in a bucket is within 6.3 % of its middle; the rest is what this test measures besides the answer.
TOLERANCE = 0.10
DASHBOARD = ROOT / "packaging/grafana/s3rdmafs.json"
SCHEMA = ROOT / "packaging/schema/stats.schema.json"


def stats_json(mounted):
    printed = subprocess.run([mounted.program, "stats", "--json", mounted.point], check=True, timeout=COMMAND_SECONDS,
                             stdout=subprocess.PIPE, text=True).stdout
    return json.loads(printed)


def histogram(mounted, name, **labels):
    """The one of `stats --json` with this name and labels among its own, or None."""
    found = [one for one in stats_json(mounted)["histograms"]
             if one["name"] == f"s3rdmafs_{name}" and labels.items() <= one["labels"].items()]
    assert len(found) <= 1, found
    return found[0] if found else None


def histogram_of_get(mounted, fabric):
    """Of the size that most requests had."""
    gets = [one for one in stats_json(mounted)["histograms"] if one["name"] == "s3rdmafs_s3_request_seconds"
            and (one["labels"]["operation"], one["labels"]["fabric"]) == ("get", fabric)]
    return max(gets, key=lambda one: one["count"])


def files(target, count=3, size=2 * MIB):
    """Each in a directory of its own, so that none is fetched ahead because of its neighbour."""
    for number in range(count):
        folder = target.root / BUCKET / f"d{number}"
        folder.mkdir()
        (folder / "f").write_bytes(bytes([number]) * size)
    return [f"d{number}/f" for number in range(count)]


@pytest.mark.parametrize(("mode", "fabric"), [("require", "shm"), ("off", "http")])
def test_percentiles_are_those_that_the_reader_measures(site, mode, fabric):
    target = site.target("--delay", f"{round(DELAY_S * 1000)}ms", bucket=BUCKET)
    names = files(target)
    mounted = site.mount(target, BUCKET, rdma={"mode": mode}, metadata={"open": "ttl"})
    measured = []
    for name in names:
        os.stat(mounted / name)  # the names cost requests of their own
        begin = time.monotonic()
        with open(mounted / name, "rb", buffering=0) as file:
            file.read(4096)
        measured.append(time.monotonic() - begin)
    gets = histogram_of_get(mounted, fabric)
    assert gets["count"] >= len(names), gets
    median = sorted(measured)[len(measured) // 2]
    assert abs(gets["p50_s"] - median) < TOLERANCE * median, (gets, measured)
    lists = histogram(mounted, "s3_request_seconds", operation="list")
    assert lists["p50_s"] > DELAY_S * (1 - TOLERANCE), lists


def test_another_delay_has_other_percentiles(site):
    """The control of the test above."""
    target = site.target(bucket=BUCKET)
    names = files(target)
    mounted = site.mount(target, BUCKET, rdma={"mode": "off"})
    for name in names:
        (mounted / name).read_bytes()
    assert histogram_of_get(mounted, "http")["p50_s"] < DELAY_S * (1 - TOLERANCE)


def test_every_read_of_the_kernel_is_counted_once(site):
    target = site.target(bucket=BUCKET)
    (target.root / BUCKET / "large").write_bytes(os.urandom(16 * MIB))  # read past the page cache
    mounted = site.mount(target, BUCKET, cache={"passthrough_max": "0"})
    fd = os.open(mounted / "large", os.O_RDONLY | os.O_DIRECT)
    for number in range(40):
        os.pread(fd, 65536, number * 65536)
    os.close(fd)
    reads = {"operation": "read", "size": "<=64KiB"}
    eventually(lambda: (histogram(mounted, "fuse_operation_seconds", **reads) or {}).get("count") == 40, 10,
               "40 reads are counted")


def test_json_is_as_the_schema_says(site):
    jsonschema = pytest.importorskip("jsonschema", reason="python3-jsonschema is not installed (tools/setup.sh)")
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    target = site.target(bucket=BUCKET)
    files(target)
    mounted = site.mount(target, BUCKET, write={"mode": "sequential"}, cache={"passthrough_max": "0"})
    (mounted / "new").write_bytes(b"x" * 100_000)
    (mounted / "d1/f").read_bytes()
    found = stats_json(mounted)
    assert not [error.message for error in validator.iter_errors(found)]
    missing = {"list", "put", "read", "write", "open"} - {one["labels"]["operation"] for one in found["histograms"]}
    assert not missing
    values = parse_prometheus(subprocess.run([mounted.program, "stats", mounted.point], check=True, stdout=subprocess.PIPE,
                                             timeout=COMMAND_SECONDS, text=True).stdout)
    assert {one["name"] for one in found["values"]} == {
        series.split("{")[0] for series in values if not re.search(r"_seconds_(bucket|sum|count)(\{|$)", series)}
    for wrong in ({"format": 2}, {"values": [{"name": "x"}]}, {"histograms": [{**found["histograms"][0], "p50_s": "1"}]}):
        assert list(validator.iter_errors({**found, **wrong})), "the control: the schema refuses something"


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=COMMAND_SECONDS)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self.path))


def scrape(connection):
    connection.request("GET", "/metrics")
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer, text


def test_a_scraper_without_rights_of_the_mount_gets_the_numbers(site, tmp_path):
    target = site.target(bucket=BUCKET)
    files(target)
    path = tmp_path / "scrape" / "m.sock"
    mounted = site.mount(target, BUCKET, metrics={"listen": f"unix:{path}", "mode": "0660", "group": str(os.getgid())})
    (mounted / "d1/f").read_bytes()
    answer, text = scrape(UnixConnection(path))
    assert (answer.status, answer.headers["Content-Type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    assert total(parse_prometheus(text), "get_bytes_total") > 0
    assert target.secret_key not in text
    assert os.stat(path).st_mode & 0o777 == 0o660
    mounted.unmount()
    assert not path.exists()


def test_a_listener_over_tcp_answers_on_its_address_alone_and_a_taken_one_is_named(site):
    target = site.target(bucket=BUCKET)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(MountFailed) as refused:
            site.mount(target, BUCKET, metrics={"listen": f"127.0.0.1:{port}"})
        assert f"metrics.listen: 127.0.0.1:{port}" in refused.value.message
    site.mount(target, BUCKET, metrics={"listen": f"127.0.0.1:{port}"})
    answer, text = scrape(http.client.HTTPConnection("127.0.0.1", port, timeout=COMMAND_SECONDS))
    assert answer.status == 200
    assert "s3rdmafs_s3_requests_total" in text
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.2", port), timeout=COMMAND_SECONDS)


def test_nothing_listens_unless_it_is_asked_to(site):
    mounted = site.mount(site.target(bucket=BUCKET), BUCKET)
    sockets = {os.readlink(f"/proc/{mounted.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{mounted.pid}/fd")}
    inodes = {re.search(r"\d+", name).group() for name in sockets if name.startswith("socket:")}
    with open(f"/proc/{mounted.pid}/net/tcp") as lines:
        listening = [line for line in lines if line.split()[3] == "0A" and line.split()[9] in inodes]
    assert not listening


def test_every_metric_of_the_dashboard_exists(site):
    target = site.target(bucket=BUCKET)
    files(target)
    mounted = site.mount(target, BUCKET, write={"mode": "sequential"})
    (mounted / "new").write_bytes(b"x" * 100_000)
    (mounted / "d1/f").read_bytes()
    text = subprocess.run([mounted.program, "stats", mounted.point], check=True, stdout=subprocess.PIPE, text=True,
                          timeout=COMMAND_SECONDS).stdout
    there = {series.split("{")[0] for series in parse_prometheus(text)}
    there |= {"s3rdmafs_rdma_fallbacks_total", "s3rdmafs_s3_attempts_failed_total"}  # from the first one on
    dashboard = json.loads(DASHBOARD.read_text())
    wanted = set(re.findall(r"s3rdmafs_[a-z0-9_]+", json.dumps(dashboard)))
    assert len(wanted) > 10
    assert wanted <= there, wanted - there
    assert "s3rdmafs_get_bytes" not in there, "the control: a name without its end is not there"


def test_a_log_of_json_is_one_object_a_line(site, tmp_path):
    log = tmp_path / "log.json"
    mounted = site.mount(site.target(bucket=BUCKET), BUCKET, log={"format": "json", "file": str(log)})
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert any(line["message"].startswith(f"mounted bucket {BUCKET} ") for line in lines)
    for line in lines:
        assert line["mount"] == str(mounted.point)
        assert line["pid"] == mounted.pid
        assert set(line) == {"time", "level", "message", "pid", "thread", "mount"}
