# SPDX-License-Identifier: Apache-2.0
"""`s3rdmafs doctor` on a machine with an RDMA device: it passes, and names what is wrong with the device."""

import json
import subprocess

import pytest
from harness import content
from harness.settings import BUILD

BUCKET = "data"


@pytest.fixture
def server(site):
    started = site.target("--rc", "rxe0", "--shm-socket", "off")
    content.write(started.root / BUCKET / "object", 1, 5_000_000)
    return started


def doctor(file, *options):
    return subprocess.run([BUILD / "src/daemon/s3rdmafs", "doctor", file, *options], check=False, timeout=400,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def first_line(result, kind):
    return next((line for line in result.stdout.splitlines() if line.startswith(kind)), "")


def assert_tells_of_the_device(report, address):
    device, = (device for device in report["devices"] if device["name"] == "rxe0")
    port, = device["ports"]
    assert port["active_mtu"] > 0 and any(gid["address"] == address for gid in port["gids"]), port
    checks = {check["name"]: check for check in report["checks"]}
    rail, = checks["RDMA rails"]["evidence"]["rails"]
    assert rail["works"] and rail["name"].startswith("rxe0:1 to "), rail
    keys, = checks["RDMA keys"]["evidence"]["paths"]
    assert keys["fences"] == 8 and not keys["reuses_key_and_address"], keys
    assert checks["reply over another NIC"]["level"] in ("pass", "skipped"), checks["reply over another NIC"]
    assert checks["bandwidth"]["evidence"]["measured"], checks["bandwidth"]


# One run for both: the guest may be an emulated machine.
def test_it_passes_over_real_verbs_and_reports_the_device(site, server, tmp_path):
    file = site.mount_file(server, BUCKET, rdma={"mode": "require", "fabric": "rc"}, write={"mode": "sequential"})
    result = doctor(file, "--report", tmp_path / "report.json")
    assert result.returncode == 0, result.stdout + result.stderr
    assert_tells_of_the_device(json.loads((tmp_path / "report.json").read_text(encoding="utf-8")), server.address)
    for check in ("RDMA read", "RDMA write", "RDMA sizes and MTU"):
        assert any(line.startswith("pass") and check in line for line in result.stdout.splitlines()), result.stdout
    assert [path.name for path in (server.root / BUCKET).iterdir()] == ["object"], "nothing else is left"


def test_it_names_a_device_that_does_not_exist(site, server):
    file = site.mount_file(server, BUCKET, rdma={"mode": "require", "fabric": "rc", "rails": "mlx5_7"})
    result = doctor(file)
    assert result.returncode == 2, result.stdout
    assert "rxe0" in first_line(result, "fail"), "it names the devices that exist: " + result.stdout


def test_it_names_a_server_without_rc(site):
    server = site.target("--rc", "off", "--shm-socket", "off")
    content.write(server.root / BUCKET / "object", 1, 5_000_000)
    file = site.mount_file(server, BUCKET, rdma={"mode": "require", "fabric": "rc"})
    result = doctor(file)
    assert result.returncode == 2, result.stdout
    assert "RDMA fabric" in first_line(result, "fail"), result.stdout
