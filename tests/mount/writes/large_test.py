# SPDX-License-Identifier: Apache-2.0
"""Staged files that are larger than write.staging_size, over RDMA and over HTTP: written in order they need no more room than
the staging area has, and no other client sees a byte of them before their close."""

import errno
import json
import os
import subprocess

import pytest
from harness import content
from harness.mount import total
from harness.processes import eventually
from harness.writing import MIB, PART, client_of, fails_with, folder_for, showing_mount, staged, uploads_of

pytestmark = pytest.mark.needs_fuse

BUCKET = "large"
PASSED = "passthrough_written_files_total"
ROOM = 64 * MIB
SIZE = 4 * ROOM + 12345


@pytest.fixture(scope="module")
def server(shared_site):
    return shared_site.target(bucket=BUCKET)


@pytest.fixture(scope="module", params=["rdma", "http"])
def mounted(request, shared_site, server):
    mode = {"rdma": "require", "http": "off"}[request.param]
    return shared_site.mount(server, BUCKET, rdma={"mode": mode, "threshold": "0"},
                             write=staged(shared_site) | {"staging_size": "64MiB"})


@pytest.fixture(scope="module")
def reader(shared_site, server):
    """A second mount, which believes nothing for longer than a moment."""
    return showing_mount(shared_site, server, BUCKET)


@pytest.fixture(scope="module")
def source(shared_site):
    path = shared_site.folder / "source"
    path.write_bytes(content.expected(7, 0, SIZE))
    return path


@pytest.fixture
def folder(mounted, request, server):
    return folder_for(request, mounted, server.root / BUCKET)


def write_in_order(file, size, start=0):
    for at in range(start, size, MIB):
        os.write(file, content.expected(7, at, min(MIB, size - at)))


@pytest.mark.parametrize("program", ["dd", "cp"])
def test_a_file_larger_than_the_staging_area_is_written_in_order(folder, mounted, reader, source, program):
    at, stored = folder
    command = {"dd": ["dd", f"if={source}", f"of={at / 'file'}", "bs=1M", "status=none"],
               "cp": ["cp", source, at / "file"]}[program]
    running = subprocess.Popen(command)
    most = 0
    while running.poll() is None:
        most = max(most, total(mounted.stats(), "staging_used_bytes"))
        assert not (reader / at.name / "file").exists() or (stored / "file").stat().st_size == SIZE
    assert running.returncode == 0
    assert 0 < most <= ROOM
    subprocess.run(["cmp", source, reader / at.name / "file"], check=True)
    subprocess.run(["cmp", source, at / "file"], check=True)
    eventually(lambda: total(mounted.stats(), "staging_used_bytes") == 0, 20, "the room is free again")


def test_parts_are_sent_while_a_file_is_written(folder, mounted):
    at, stored = folder
    before = total(mounted.stats(), "upload_bytes_total")
    file = os.open(at / "file", os.O_WRONLY | os.O_CREAT)
    write_in_order(file, 3 * PART + 1)
    eventually(lambda: total(mounted.stats(), "upload_bytes_total") == before + 3 * PART, 20, "three parts are sent")
    assert not (stored / "file").exists()
    os.close(file)
    assert total(mounted.stats(), "upload_bytes_total") == before + 3 * PART + 1
    assert (stored / "file").read_bytes() == content.expected(7, 0, 3 * PART + 1)


def test_a_dropped_part_cannot_be_changed_and_the_rest_can(folder, mounted):
    at, stored = folder
    size = 2 * ROOM + 999
    expected = bytearray(content.expected(7, 0, size))
    file = os.open(at / "file", os.O_RDWR | os.O_CREAT)
    write_in_order(file, size)
    with fails_with(errno.EOPNOTSUPP):
        os.pwrite(file, b"late", PART + 100)
    with fails_with(errno.EOPNOTSUPP):
        os.truncate(at / "file", PART + 100)
    for offset, text in ((10, b"a header"), (size - 20, b"at the end")):
        os.pwrite(file, text, offset)
        expected[offset:offset + len(text)] = text
    assert os.pread(file, 100, 0) == expected[:100]
    os.close(file)
    assert (stored / "file").read_bytes() == expected
    assert (at / "file").read_bytes() == expected


def test_a_removed_file_leaves_no_upload(folder, server):
    at, stored = folder
    file = os.open(at / "file", os.O_WRONLY | os.O_CREAT)
    write_in_order(file, 2 * ROOM)
    client, prefix = client_of(server, BUCKET), f"{at.name}/"
    assert uploads_of(client, prefix) == [f"{prefix}file"], "the control"
    os.unlink(at / "file")
    os.close(file)
    assert not (stored / "file").exists()
    eventually(lambda: not uploads_of(client, prefix), 20, "the upload is aborted")


def test_of_a_file_that_a_killed_daemon_left_the_lost_bytes_are_told(site):
    server = site.target(bucket=BUCKET)
    sections = {"write": staged(site) | {"staging_size": "64MiB", "state_dir": str(site.folder / "state")}}
    mounted = site.mount(server, BUCKET, **sections)
    file = os.open(mounted / "file", os.O_WRONLY | os.O_CREAT)
    write_in_order(file, 2 * ROOM)
    mounted.kill()
    assert uploads_of(client_of(server, BUCKET)) == ["file"], "the control"
    with fails_with(errno.ENOTCONN):
        os.close(file)
    mounted.destroy()
    listed = subprocess.run([mounted.program, "recover", mounted.file, mounted.point, "--json"], check=True,
                            stdout=subprocess.PIPE, text=True)
    [found] = json.loads(listed.stdout)["files"]
    assert found["size_bytes"] == 2 * ROOM
    assert found["lost_bytes"] >= ROOM
    again = site.mount(server, BUCKET, **sections)
    eventually(lambda: not uploads_of(client_of(server, BUCKET)), 20, "the upload is aborted")
    assert not (again / "file").exists()


@pytest.mark.needs_passthrough
def test_beside_a_large_file_the_daemon_writes_files_of_any_size(site):
    server = site.target(bucket=BUCKET)
    mounted = site.mount(server, BUCKET, write=site.on_tmpfs({"mode": "staged", "buffer_size": "64MiB", "staging_size": "64MiB"}))
    (mounted / "first").write_bytes(bytes(40 * MIB))
    assert total(mounted.stats(), PASSED) == 1
    for name in ("first", "second"):
        subprocess.run(["dd", "if=/dev/zero", f"of={mounted / name}", "bs=1M", "count=130", "status=none"], check=True)
        assert (server.root / BUCKET / name).stat().st_size == 130 * MIB
    assert total(mounted.stats(), PASSED) == 1
    (mounted / "directory").mkdir()
    (mounted / "directory" / "small").write_bytes(bytes(MIB))
    assert total(mounted.stats(), PASSED) == 2
