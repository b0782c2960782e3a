# SPDX-License-Identifier: Apache-2.0
"""`s3rdmafs doctor` on a machine with an RDMA device: it passes, and names what is wrong with the device."""

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


def doctor(file):
    return subprocess.run([BUILD / "src/daemon/s3rdmafs", "doctor", file], check=False, timeout=200,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def first_line(result, kind):
    return next((line for line in result.stdout.splitlines() if line.startswith(kind)), "")


def test_it_passes_over_real_verbs(site, server):
    file = site.mount_file(server, BUCKET, rdma={"mode": "require", "fabric": "rc"}, write={"mode": "sequential"})
    result = doctor(file)
    assert result.returncode == 0, result.stdout + result.stderr
    for check in ("RDMA read", "RDMA write", "RDMA sizes and MTU"):
        assert any(line.startswith("pass") and check in line for line in result.stdout.splitlines()), result.stdout
    assert [path.name for path in (server.root / BUCKET).iterdir()] == ["object"], "nothing is left behind"


def test_it_names_a_device_that_is_not_there(site, server):
    file = site.mount_file(server, BUCKET, rdma={"mode": "require", "fabric": "rc", "rails": "mlx5_7"})
    result = doctor(file)
    assert result.returncode == 2, result.stdout
    assert "rxe0" in first_line(result, "fail"), "it says what there is: " + result.stdout


def test_it_names_a_server_without_rc(site):
    server = site.target("--rc", "off", "--shm-socket", "off")
    content.write(server.root / BUCKET / "object", 1, 5_000_000)
    file = site.mount_file(server, BUCKET, rdma={"mode": "require", "fabric": "rc"})
    result = doctor(file)
    assert result.returncode == 2, result.stdout
    assert "RDMA fabric" in first_line(result, "fail"), result.stdout
