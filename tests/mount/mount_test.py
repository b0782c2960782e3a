# SPDX-License-Identifier: Apache-2.0
"""Mounting and unmounting: ready means ready, a failure tells its cause, nothing is left, and the system's own
tools (mount, fstab, umount, systemd) work with it."""

import os
import re
import socket
import subprocess
import threading
from pathlib import Path

import pytest
from harness import content
from harness.mount import run_mount
from harness.namespace import Namespace, leaving_other_mounts
from harness.processes import ReservedPort, eventually, find_by_command_line, is_alive, mounts_below, stop
from harness.settings import BUILD, ROOT

pytestmark = pytest.mark.needs_fuse

BUCKET = "data"


@pytest.fixture(scope="module")
def server(shared_site):
    target = shared_site.target()
    for number, name in enumerate(("top", "set/train/a", "set/train/b", "set/test/c")):
        content.write(target.root / BUCKET / name, number, 50_000)
    return target


@pytest.fixture
def point(tmp_path):
    folder = tmp_path / "mnt"
    folder.mkdir()
    return folder


@pytest.fixture
def namespace():
    made = Namespace()
    yield made
    made.end()


class Other:
    """A server as `server`, but for what a test changes."""

    def __init__(self, server, **changes):
        self.endpoint, self.access_key, self.secret_key = server.endpoint, server.access_key, server.secret_key
        vars(self).update(changes)


def assert_refused(result, point, *words):
    """The command failed, said each of `words` (regular expressions), and left nothing."""
    assert result.returncode != 0, result.stdout + result.stderr
    for word in words:
        assert re.search(word, result.stderr, re.IGNORECASE), f"{word!r} is not in: {result.stderr}"
    assert not mounts_below(point)
    assert not find_by_command_line(point)


def test_when_mount_returns_the_mount_answers(site, server):
    for _ in range(5):
        mounted = site.mount(server, BUCKET)
        assert sorted(os.listdir(mounted.point)) == ["set", "top"]
        assert (mounted / "top").read_bytes() == content.expected(0, 0, 50_000)


def test_umount_of_the_system_ends_the_daemon_and_leaves_nothing(site, server):
    mounted = site.mount(server, BUCKET)
    sockets = set(unix_sockets_of(mounted.pid))
    mounted.unmount("umount")
    assert not is_alive(mounted.pid)
    assert not find_by_command_line(mounted.point)
    assert not [path for path in sockets if os.path.exists(path)], "the stats socket is gone"


def test_umount_of_ours_ends_the_daemon(site, server):
    site.mount(server, BUCKET).unmount()


def test_a_mount_in_use_is_not_unmounted_and_goes_on(site, server):
    mounted = site.mount(server, BUCKET)
    with open(mounted / "top", "rb") as file:
        refused = subprocess.run(["umount", mounted.point], check=False, timeout=20, stderr=subprocess.DEVNULL)
        assert refused.returncode != 0
        assert file.read() == content.expected(0, 0, 50_000)


@pytest.mark.needs_root
def test_umount_names_the_copy_of_the_mount_for_whose_end_it_waits(site, server, s3rdmafs):
    mounted = site.mount(server, BUCKET)
    stays = leaving_other_mounts("sh", "-c", "echo inside; exec sleep 60", kept=mounted.point)
    holder = subprocess.Popen(["unshare", "--mount", "--propagation", "private", *stays], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline() == "inside\n"
        with subprocess.Popen([s3rdmafs, "umount", mounted.point], stderr=subprocess.PIPE, text=True) as umount:
            told = umount.stderr.readline()
            assert re.search(rf"process {holder.pid} \(.*\) has the mount at {mounted.point} of its mount name space", told), told
            assert is_alive(mounted.pid) and not mounted.is_mounted()
            stop(holder)
            assert umount.wait(60) == 0, "the copy ends with its name space, and the daemon with the copy"
            assert not umount.stderr.read()
        assert not is_alive(mounted.pid)
    finally:
        stop(holder)
        holder.stdout.close()


def test_a_prefix_is_mounted_as_the_root(site, server):
    mounted = site.mount(server, BUCKET, bucket={"prefix": "set/train/"})
    assert sorted(os.listdir(mounted.point)) == ["a", "b"]
    assert (mounted / "b").read_bytes() == content.expected(2, 0, 50_000)


def test_two_mounts_of_one_bucket_live_side_by_side(site, server):
    first, second = site.mount(server, BUCKET), site.mount(server, BUCKET)
    first.unmount()
    assert (second / "top").read_bytes() == content.expected(0, 0, 50_000)


def test_the_mount_file_names_the_mount_point_where_the_command_line_does_not(site, server, point, s3rdmafs):
    file = site.mount_file(server, BUCKET, mount={"point": str(point)})
    result = subprocess.run([s3rdmafs, "mount", file], check=False, timeout=60, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert result.returncode == 0, result.stderr
        assert sorted(os.listdir(point)) == ["set", "top"]
    finally:
        subprocess.run([s3rdmafs, "umount", point], check=False, timeout=60)
    eventually(lambda: not find_by_command_line(file), 20, "the daemon ends")


def test_a_bucket_that_is_not_there_is_named(site, server, point, s3rdmafs):
    file = site.mount_file(server, "no-such-bucket")
    assert_refused(run_mount(s3rdmafs, file, point), point, "bucket", "no-such-bucket")


def test_a_wrong_secret_is_said(site, server, point, s3rdmafs):
    file = site.mount_file(Other(server, secret_key="wrong"), BUCKET)
    assert_refused(run_mount(s3rdmafs, file, point), point, "signature|secret|denied")


def test_an_unknown_access_key_is_said(site, server, point, s3rdmafs):
    file = site.mount_file(Other(server, access_key="UNKNOWN"), BUCKET)
    assert_refused(run_mount(s3rdmafs, file, point), point, "access key|denied")


def test_a_secret_is_never_printed(site, server, point, s3rdmafs):
    file = site.mount_file(Other(server, secret_key="do-not-print-me"), BUCKET, log={"level": "trace"})
    result = run_mount(s3rdmafs, file, point)
    assert result.returncode != 0
    assert "do-not-print-me" not in result.stdout + result.stderr


def test_an_endpoint_where_nothing_listens_is_named(site, server, point, s3rdmafs):
    with ReservedPort() as port:
        other = Other(server, endpoint=f"http://127.0.0.1:{port.number}")
        file = site.mount_file(other, BUCKET, retry={"deadline": "2s"})
        assert_refused(run_mount(s3rdmafs, file, point), point, str(port.number))


def test_a_server_that_never_answers_does_not_hang_the_mount(site, server, point, s3rdmafs):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        file = site.mount_file(Other(server, endpoint=f"http://127.0.0.1:{port}"), BUCKET, retry={"deadline": "2s"})
        assert_refused(run_mount(s3rdmafs, file, point), point, str(port))


def test_a_missing_mount_point_is_named(site, server, tmp_path, s3rdmafs):
    gone = tmp_path / "gone"
    assert_refused(run_mount(s3rdmafs, site.mount_file(server, BUCKET), gone), gone, str(gone))


def test_a_mount_point_that_is_a_file_is_named(site, server, tmp_path, s3rdmafs):
    plain = tmp_path / "plain"
    plain.touch()
    assert_refused(run_mount(s3rdmafs, site.mount_file(server, BUCKET), plain), plain, str(plain), "directory")


def test_a_mount_point_that_is_taken_is_said(site, server, s3rdmafs):
    mounted = site.mount(server, BUCKET)
    result = run_mount(s3rdmafs, site.mount_file(server, BUCKET), mounted.point)
    assert result.returncode != 0
    assert re.search("already|busy|mounted", result.stderr), result.stderr
    assert mounts_below(mounted.point) == [str(mounted.point)], "the first one is still there, once"
    assert sorted(os.listdir(mounted.point)) == ["set", "top"]


BAD_FILES = {
    "a value without its closing quote": ('[bucket]\nname = "data\n', r":2:\d+", "name|quote|string"),
    "an unknown key": ('[bucket]\nname = "data"\n  nam = 1\n', r":3:\d+", "nam"),
    "an unknown section": ('[bukcet]\nname = "data"\n', r":1:\d+", "bukcet"),
    "a number where a text belongs": ("[bucket]\nname = 7\n", r":2:\d+", "bucket.name", "text"),
    "a size that is none": ('[bucket]\nname = "data"\n[cache]\nsize = "much"\n', r":4:\d+", "cache.size", "size"),
    "no bucket": ('[endpoint]\nurl = "http://127.0.0.1:1"\n', "bucket.name"),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_a_bad_mount_file_is_refused_with_the_place_and_the_reason(case, tmp_path, point, s3rdmafs):
    text, *words = BAD_FILES[case]
    file = tmp_path / "bad.toml"
    file.write_text(text)
    assert_refused(run_mount(s3rdmafs, file, point), point, "bad.toml", *words)


def test_a_missing_mount_file_is_named(tmp_path, point, s3rdmafs):
    assert_refused(run_mount(s3rdmafs, tmp_path / "gone.toml", point), point, "gone.toml")


@pytest.mark.needs_root
def test_without_fuse_the_reason_is_said(site, server, point, s3rdmafs, namespace, tmp_path):
    file = site.mount_file(server, BUCKET)
    namespace.hide_device("fuse", tmp_path)
    assert_refused(namespace.run(s3rdmafs, "mount", file, point), point, "/dev/fuse")


# A user's usual limit, and no right to exceed it.
LIMITED = ["prlimit", "--memlock=65536:65536", "setpriv", "--bounding-set=-ipc_lock", "--inh-caps=-ipc_lock"]


@pytest.mark.needs_root
def test_a_locked_memory_limit_that_is_too_small_is_said(site, server, point, s3rdmafs):
    file = site.mount_file(server, BUCKET, cache={"lock": "require"})
    result = subprocess.run([*LIMITED, s3rdmafs, "mount", file, point], check=False, timeout=60,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert_refused(result, point, "locked-memory", "64 ?KiB", "128 ?MiB", "ulimit -l", "LimitMEMLOCK")


@pytest.mark.needs_root
def test_a_small_locked_memory_limit_does_not_matter_unless_the_mount_file_says_so(site, server, point, s3rdmafs):
    file = site.mount_file(server, BUCKET)
    subprocess.run([*LIMITED, s3rdmafs, "mount", file, point], check=True, timeout=60, stdin=subprocess.DEVNULL)
    try:
        assert sorted(os.listdir(point)) == ["set", "top"]
    finally:
        subprocess.run([s3rdmafs, "umount", point], check=True, timeout=60)
    eventually(lambda: not find_by_command_line(file), 20, "the daemon ends")


def test_umount_of_what_is_not_mounted_is_refused(point, s3rdmafs):
    result = subprocess.run([s3rdmafs, "umount", point], check=False, timeout=20, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)
    assert_refused(result, point, str(point))


def test_stats_of_what_is_not_mounted_is_refused(point, s3rdmafs):
    result = subprocess.run([s3rdmafs, "stats", point], check=False, timeout=20, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)
    assert_refused(result, point, str(point))


# The system's own tools.


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder that stands for / after an installation."""
    root = tmp_path_factory.mktemp("installed")
    subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--skip-subprojects", "--quiet"],
                   check=True, timeout=120, env={**os.environ, "DESTDIR": str(root)})
    return root


@pytest.fixture
def with_helper(namespace, installed, tmp_path):
    """A name space in which mount(8) finds the installed helper."""
    helpers = [path for path in installed.rglob("mount.*") if path.is_symlink()]
    assert len(helpers) == 1, "the helper is installed, once"
    program = installed / os.readlink(helpers[0]).lstrip("/")
    assert program.is_file(), "and it is the installed program under another name"
    namespace.add_to_sbin(program, "mount.s3rdma", tmp_path)
    return namespace


def assert_serves_then_leaves_nothing(namespace, file, point):
    assert str(point) in namespace.mounts()
    assert namespace.must("ls", point).split() == ["set", "top"]
    assert find_by_command_line(file), "its daemon runs"
    namespace.must("umount", point)
    assert str(point) not in namespace.mounts()
    eventually(lambda: not find_by_command_line(file), 20, "the daemon ends")


@pytest.mark.needs_root
def test_mount_t_s3rdma_mounts_it(site, server, point, with_helper):
    file = site.mount_file(server, BUCKET)
    with_helper.must("mount", "-t", "s3rdma", file, point)
    assert_serves_then_leaves_nothing(with_helper, file, point)


@pytest.mark.needs_root
def test_mount_t_s3rdma_takes_the_usual_options(site, server, point, with_helper):
    file = site.mount_file(server, BUCKET)
    with_helper.must("mount", "-t", "s3rdma", "-o", "ro,noatime,nosuid,nodev,_netdev", file, point)
    assert_serves_then_leaves_nothing(with_helper, file, point)


@pytest.mark.needs_root
def test_a_failure_comes_through_mount_t_s3rdma(site, server, point, with_helper):
    result = with_helper.run("mount", "-t", "s3rdma", site.mount_file(server, "no-such-bucket"), point)
    assert_refused(result, point, "no-such-bucket")


@pytest.mark.needs_root
def test_a_line_in_fstab_mounts_it(site, server, point, with_helper, tmp_path):
    file = site.mount_file(server, BUCKET)
    fstab = tmp_path / "fstab"
    fstab.write_text(f"{file} {point} s3rdma ro,_netdev 0 0\n")
    with_helper.must("mount", "--all", "--fstab", fstab)
    with_helper.must("mount", "--all", "--fstab", fstab)  # a second time changes nothing
    assert with_helper.mounts().count(str(point)) == 1
    assert_serves_then_leaves_nothing(with_helper, file, point)


class NotifySocket:
    """The end that systemd has of a Type=notify service."""

    def __init__(self, path):
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(path))
        self.environment = {**os.environ, "NOTIFY_SOCKET": str(path)}

    def wait_for_ready(self, seconds):
        """Whether READY=1 came in time."""
        self._socket.settimeout(seconds)
        try:
            while "READY=1" not in self._socket.recv(4096).decode().split("\n"):
                pass
        except TimeoutError:
            return False
        return True

    def close(self):
        self._socket.close()


@pytest.fixture
def notify(tmp_path):
    made = NotifySocket(tmp_path / "n")
    yield made
    made.close()


def test_systemd_is_told_ready_only_when_the_mount_answers(site, server, point, s3rdmafs, notify, tmp_path):
    with open(tmp_path / "log", "wb") as log:
        daemon = subprocess.Popen([s3rdmafs, "mount", site.mount_file(server, BUCKET), point, "-f"],
                                  env=notify.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        assert notify.wait_for_ready(30), (tmp_path / "log").read_text()
        assert sorted(os.listdir(point)) == ["set", "top"], "at once, without waiting"
        daemon.terminate()  # as systemd stops a service
        assert daemon.wait(20) == 0
        assert not mounts_below(point)
    finally:
        stop(daemon)


def test_systemd_is_not_told_ready_when_the_mount_fails(site, server, point, s3rdmafs, notify):
    daemon = subprocess.Popen([s3rdmafs, "mount", site.mount_file(server, "no-such-bucket"), point, "-f"],
                              env=notify.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        assert daemon.wait(30) != 0
    finally:
        stop(daemon)
    assert not notify.wait_for_ready(0.1), "the daemon has ended: what it sent is here already"


def test_a_daemon_in_the_foreground_ends_with_its_mount(site, server, point, s3rdmafs, tmp_path):
    with open(tmp_path / "log", "wb") as log:
        daemon = subprocess.Popen([s3rdmafs, "mount", site.mount_file(server, BUCKET), point, "-f"],
                                  stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        eventually(lambda: mounts_below(point) and os.listdir(point), 30, "it is mounted")
        subprocess.run(["umount", point], check=True, timeout=20)
        assert daemon.wait(20) == 0
    finally:
        stop(daemon)


@pytest.mark.needs("systemd-analyze")
def test_systemd_accepts_the_units(tmp_path, installed, s3rdmafs):
    units = [path for path in [*installed.rglob("*"), *(ROOT / "packaging/systemd").glob("*")]
             if path.suffix in (".service", ".mount", ".automount")]
    assert {unit.suffix for unit in units} == {".service", ".mount", ".automount"}
    copies = []
    for unit in units:
        # The program as built stands in for the installed one, which systemd wants to find.
        copy = tmp_path / unit.parent.name / unit.name.replace("@.", "@example.")
        copy.parent.mkdir(exist_ok=True)
        copy.write_text(re.sub(r"(?<=[= ])/\S*/s3rdmafs(?= )", str(s3rdmafs), unit.read_text()))
        copies.append(copy)
    result = subprocess.run(["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", *copies],
                            check=False, timeout=60, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    complaints = [line for line in result.stdout.splitlines() if any(copy.name in line for copy in copies)]
    assert not complaints and result.returncode == 0, result.stdout


def test_eight_mounts_at_once_all_come_up(site, server):
    made, failures = [], []

    def mount(number):
        try:
            made.append(site.mount(server, BUCKET, cache={"size": "64MiB"}))
        except Exception as failure:  # shown below, not lost in a thread
            failures.append((number, failure))

    threads = [threading.Thread(target=mount, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failures, failures
    assert all((mounted / "top").read_bytes() == content.expected(0, 0, 50_000) for mounted in made)


def unix_sockets_of(pid):
    """Paths of the UNIX sockets that a process has bound."""
    inodes = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        if found := re.fullmatch(r"socket:\[(\d+)\]", os.readlink(descriptor)):
            inodes.add(found.group(1))
    for line in Path("/proc/net/unix").read_text().splitlines()[1:]:
        fields = line.split()
        if len(fields) > 7 and fields[6] in inodes and fields[7].startswith("/"):
            yield fields[7]
