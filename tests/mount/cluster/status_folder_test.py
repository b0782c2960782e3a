# SPDX-License-Identifier: Apache-2.0
"""`.s3rdmafs` in the root of a mount: what the mount does, for programs that see nothing else of the machine."""

import errno
import os
import subprocess
import tomllib

import pytest
from harness import content
from harness.mount import COMMAND_SECONDS, parse_prometheus

pytestmark = pytest.mark.needs_fuse

BUCKET = "told"
OTHER_USER = 65534


@pytest.fixture
def server(site):
    started = site.target()
    content.write(started.root / BUCKET / "deep/a file", 1, 100_000)
    return started


@pytest.fixture
def mounted(site, server):
    return site.mount(server, BUCKET, write={"mode": "staged"}, mount={"allow_other": True})


@pytest.fixture
def status(mounted):
    return mounted / ".s3rdmafs"


def test_it_is_there_and_no_listing_has_it(mounted, status):
    assert os.listdir(mounted.point) == ["deep"]
    assert sorted(os.listdir(status)) == ["access-log", "config", "stats"]


def test_keys_below_its_name_are_out_of_reach(site, server):
    content.write(server.root / BUCKET / ".s3rdmafs/hidden", 1, 1000)
    mounted = site.mount(server, BUCKET)
    for entry in os.scandir(mounted.point):  # with the attributes that a listing brings
        entry.stat()
    assert sorted(os.listdir(mounted / ".s3rdmafs")) == ["access-log", "config", "stats"]


def test_stats_are_those_of_the_command(mounted, status):
    told, asked = parse_prometheus((status / "stats").read_text()), mounted.stats()
    assert {series.split("{")[0] for series in told} == {series.split("{")[0] for series in asked}
    with open(mounted / "deep/a file", "rb") as file:
        file.read()
    assert parse_prometheus((status / "stats").read_text()) != told, "each open has numbers of its own"


def test_config_is_what_is_in_effect_without_secrets(server, status):
    config = (status / "config").read_text()
    tables = tomllib.loads(config)
    assert tables["bucket"]["name"] == BUCKET and tables["write"]["mode"] == "staged"
    assert server.secret_key not in config and tables["credentials"]["secret_access_key"] == "********"


def test_the_access_log_names_program_user_and_file(mounted, status):
    subprocess.run(["cat", mounted / "deep/a file"], check=True, timeout=COMMAND_SECONDS, stdout=subprocess.DEVNULL)
    with open(mounted / "deep/a file", "rb"):
        (mounted / "new").write_bytes(b"x")
        lines = (status / "access-log").read_text().splitlines()
    reads = [line.split(" ", 5) for line in lines if line.endswith(" deep/a file")]
    assert [read[3:5] for read in reads] == [["0", "r"]] * 2
    assert int(reads[1][1]) == os.getpid()
    assert lines[-1].split(" ", 5)[4:] == ["w", "new"]


@pytest.mark.skipif(os.geteuid() != 0, reason="not root: another user's command cannot be run")
def test_only_its_owner_reads_it(mounted):
    def as_other_user(*command):
        # The folders above the mount point are root's: the process enters it before it becomes another user's.
        return subprocess.run(command, check=False, timeout=COMMAND_SECONDS, cwd=mounted.point, user=OTHER_USER, group=OTHER_USER,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE).returncode

    assert as_other_user("ls", "deep") == 0, "the control"
    assert as_other_user("ls", ".s3rdmafs") != 0
    assert as_other_user("cat", ".s3rdmafs/stats") != 0


def test_it_cannot_be_changed(mounted, status):
    def refusal(change, *arguments):
        try:
            change(*arguments)
        except OSError as failure:
            return failure.errno
        return 0

    (mounted / "file").write_bytes(b"kept")
    assert refusal(os.rmdir, status) == errno.EPERM
    assert refusal(os.mkdir, status) == errno.EEXIST
    assert refusal(os.rename, mounted / "file", status / "file") == errno.EPERM
    assert refusal(os.rename, status, mounted / "moved") == errno.EPERM
    assert refusal(os.unlink, status / "stats") == errno.EPERM
    assert refusal(os.truncate, status / "stats", 0) == errno.EPERM
    assert refusal(os.chmod, status / "stats", 0o666) == errno.EPERM
    assert refusal((status / "new").write_bytes, b"x") == errno.EPERM
    assert refusal((status / "stats").write_bytes, b"x") == errno.EACCES
    assert (mounted / "file").read_bytes() == b"kept" and sorted(os.listdir(mounted.point)) == ["deep", "file"]
