# SPDX-License-Identifier: Apache-2.0
"""The CSI driver: what Kubernetes asks of a node's driver, with the real one, real daemons and a real server."""

import os
import re
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from harness import content
from harness.csi import (DRIVER, MANY_WRITERS, PROGRAMS, READER, SINGLE_POD, SIZE, Node, assert_nothing_left, digest, fake_systemd_run,
                         pod_context, refused, secrets_of, volume_of, why_not)
from harness.key_service import ROLE, WEB_TOKEN, KeyService
from harness.namespace import leaving_other_mounts
from harness.processes import ReservedPort, eventually, mounts_below
from harness.settings import ROOT

pytestmark = [pytest.mark.needs_fuse, pytest.mark.needs_root, pytest.mark.needs(*PROGRAMS),
              pytest.mark.skipif(bool(why_not()), reason=why_not() or "all is here")]
grpc = pytest.importorskip("grpc", reason="python3-grpcio is not installed")
Code = grpc.StatusCode


def test_the_driver_says_what_it_is_and_what_it_can(node):
    messages = node.messages
    info = node.identity.GetPluginInfo(messages.GetPluginInfoRequest())
    assert re.fullmatch(r"[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?", info.name) and info.vendor_version
    assert not node.identity.GetPluginCapabilities(messages.GetPluginCapabilitiesRequest()).capabilities
    assert node.identity.Probe(messages.ProbeRequest()).ready.value
    assert node.node.NodeGetInfo(messages.NodeGetInfoRequest()).node_id == "node-1"
    types = {each.rpc.type for each in node.node.NodeGetCapabilities(messages.NodeGetCapabilitiesRequest()).capabilities}
    assert types == {1, 2, 4, 5, 6}, "staging, statistics, condition, single pods, groups"


def options_in(text, pattern):
    return {option for names in re.findall(pattern, text, re.MULTILINE) for option in names.split(",")}


def test_the_manual_has_the_options_of_help_and_no_others():
    helped = subprocess.run([DRIVER, "--help"], check=True, stdout=subprocess.PIPE, text=True, timeout=10).stdout
    wanted = options_in(helped, r"^  (-[\w,-]+)")
    page = (ROOT / "man/s3rdmafs-csi.8.scd").read_text().replace(", -", ",-")
    assert options_in(page, r"^\*(-[\w,-]+)\*") == wanted
    assert {"-h", "--help", "--state"} < wanted, "the control: names of both kinds are seen"


def test_pods_with_one_identity_share_a_mount_that_ends_with_the_last(node, csi_server):
    first, again, other = (volume_of(node, csi_server, name="pv-1"), volume_of(node, csi_server, name="pv-2"),
                           volume_of(node, csi_server, name="pv-3", secrets={"access_key_id": "OTHERKEY", "secret_access_key": "othersecret0123456789"}))
    for volume in (first, again, other):
        volume.stage()
    paths = [first.publish("a"), first.publish("b"), again.publish("c")]
    assert len(node.daemons()) == 1, "two volumes and three pods, one bucket, one identity"
    paths.append(other.publish("d"))
    assert len(node.daemons()) == 2, "another identity never shares"
    assert {digest(path / "data") for path in paths} == {digest(csi_server.root / "first/data")}
    first.unpublish("a")
    first.unpublish("b")
    assert digest(paths[2] / "data") == digest(csi_server.root / "first/data")
    again.unpublish("c")
    other.unpublish("d")
    for volume in (first, again, other):
        volume.unstage()
    assert_nothing_left(node)


def test_each_call_can_be_repeated(node, csi_server):
    volume = volume_of(node, csi_server)
    volume.unpublish("a")
    volume.unstage()
    for _ in range(2):
        volume.stage()
    for _ in range(3):
        path = volume.publish("a")
    assert len([point for point in mounts_below(node.pods)]) == 1 and digest(path / "data")
    for _ in range(2):
        volume.unpublish("a")
    assert not path.exists(), "the target is the driver's to remove"
    for _ in range(2):
        volume.unstage()
    assert_nothing_left(node)


def test_one_target_or_staging_has_one_use(node, csi_server):
    volume = volume_of(node, csi_server)
    volume.stage()
    refused(Code.ALREADY_EXISTS, volume.stage, volume_capability=node.capability(MANY_WRITERS))
    volume.publish("a")
    assert "settings" in refused(Code.ALREADY_EXISTS, volume.publish, "a", volume_context={**volume.context, "metadata.ttl": "1s"})
    volume.unpublish("a")
    assert "not staged" in refused(Code.FAILED_PRECONDITION, volume.publish, "a", staging_target_path=f"{node.pods}/elsewhere")
    single = volume_of(node, csi_server, name="pv-single", mode=SINGLE_POD, write__mode="staged")
    single.stage()
    single.publish("b")
    single.publish("b")
    refused(Code.FAILED_PRECONDITION, single.publish, "c")
    single.unpublish("b")
    for each in (volume, single):
        each.unstage()
    assert_nothing_left(node)


BAD_CONTEXTS = {
    "no such key; did you mean bucket.name?": {"bucket.nam": "x"},
    "driver's own": {"log.file": "/etc/passwd"},
    "driver's own ": {"write.staging_dir": "/etc"},
    "belongs into the volume's Secret": {"credentials.secret_access_key": "x"},
    "without control characters": {"bucket.prefix": 'x"\n[log]\nfile = "/etc/cron.d/x'},
    "cache.size": {"cache.size": "lots"},
    "expected a number": {"mount.uid": "0 # nothing else"},
    "expected true or false": {"bucket.requester_pays": "true # nothing else"},
    "authentication": {"authentication": "nobody"},
    "roleArn": {"roleArn": "arn:aws:iam::1:role/x"},
    "one word": {"authentication": "pod", "roleArn": "x\ncredential_process = /bin/sh"},
}


def test_wrong_settings_are_refused_and_leave_nothing(node, csi_server):
    for words, change in BAD_CONTEXTS.items():
        volume = volume_of(node, csi_server)
        volume.context.update(change)
        calls = [lambda volume=volume: volume.stage()]
        good = volume_of(node, csi_server)
        good.stage()
        calls.append(lambda volume=volume: volume.publish("a"))
        said = []
        for call in calls:
            try:
                call()
            except grpc.RpcError as error:
                assert error.code() == Code.INVALID_ARGUMENT, error.details()
                said.append(error.details())
        assert said and words.strip() in said[-1], f"{change}: {said}"
        good.unstage()
    volume = volume_of(node, csi_server)
    volume.stage()
    for flags in (["suid"], ["log.file=/x"], ["gid=0,allow_other"], ["x" * 5000], ["dev"]):
        refused(Code.INVALID_ARGUMENT, volume.publish, "a", volume_capability=node.capability(READER, flags))
    refused(Code.INVALID_ARGUMENT, volume.publish, "a", volume_capability=node.capability(READER, group="0; x"))
    refused(Code.INVALID_ARGUMENT, volume.publish, "a", volume_capability=node.capability(0))
    refused(Code.INVALID_ARGUMENT, volume.publish, "a", volume_capability=node.messages.VolumeCapability(
        block=node.messages.VolumeCapability.BlockVolume(), access_mode=node.capability(READER).access_mode))
    refused(Code.INVALID_ARGUMENT, volume.publish, "a", volume_capability=node.capability(MANY_WRITERS))
    volume.unstage()
    assert_nothing_left(node)


def test_ids_and_paths_stay_where_they_belong(node, csi_server, tmp_path):
    volume = volume_of(node, csi_server)
    volume.stage()
    outside = tmp_path / "outside"
    outside.mkdir()
    (node.pods / "link").symlink_to(outside)
    for target in ("", "relative", str(outside / "mount"), f"{node.pods}/../outside/mount", f"{node.pods}//x", f"{node.pods}/a\nb",
                   f"{node.pods}/link/mount", str(node.pods), f"{node.pods}/" + "x" * 300):
        refused(Code.INVALID_ARGUMENT, volume.publish, "a", target_path=target)
    for name in ("", "x" * 200, "a\x01b"):
        refused(Code.INVALID_ARGUMENT, volume.stage, volume_id=name)
    strange = volume_of(node, csi_server, name='../../"quoted"; $(touch x)\\')
    strange.stage(staging_target_path=f"{node.pods}/s")
    strange.publish("b", staging_target_path=f"{node.pods}/s")
    strange.unpublish("b")
    node.node.NodeUnstageVolume(node.messages.NodeUnstageVolumeRequest(volume_id=strange.name, staging_target_path=f"{node.pods}/s"))
    kept = node.target("kept")
    kept.mkdir()
    (kept / "file").write_text("of another program")
    refused(Code.INVALID_ARGUMENT, volume.unpublish, "kept")
    assert (kept / "file").exists()
    (kept / "file").unlink()
    kept.rmdir()
    volume.unstage()
    assert not list(outside.iterdir())
    assert_nothing_left(node)


def test_secrets_are_in_no_message_log_or_command_line(node, csi_server):
    secret = "a very secret key 42"
    volume = volume_of(node, csi_server, secrets={"access_key_id": "OTHERKEY", "secret_access_key": secret})
    volume.stage()
    said = refused(Code.INTERNAL, volume.publish, "a")
    assert "denied" in said.lower() or "signature" in said.lower(), said
    said += refused(Code.INVALID_ARGUMENT, volume.publish, "a", secrets={"dc_key": secret, **secrets_of(csi_server)})
    said += refused(Code.INVALID_ARGUMENT, volume.publish, "a", secrets={secret + "?": "x"}).replace(secret + "?", "")
    assert secret not in said and secret not in node.log.read_text().replace(secret + "?", "")
    records = node.records()
    assert any(secret in path.read_text(errors="replace") for path in records), "the control: it is kept for the next call"
    assert all(path.stat().st_mode & 0o077 == 0 for path in records)
    assert os.stat(node.socket).st_mode & 0o077 == 0
    volume.unstage()
    assert_nothing_left(node)


def test_readers_cannot_write_and_writers_share_their_group(node, csi_server):
    writer = volume_of(node, csi_server, "written", mode=MANY_WRITERS, group="4242", write__mode="staged")
    writer.stage()
    path, read_only = writer.publish("a"), writer.publish("b", readonly=True)
    assert len(node.daemons()) == 1
    (path / "file").write_text("written by a pod")
    with pytest.raises(OSError, match="Read-only"):
        (read_only / "other").write_text("x")
    assert (read_only / "file").read_text() == "written by a pod"
    status = os.stat(path / "file")
    assert status.st_gid == 4242 and status.st_mode & 0o777 == 0o664 and os.stat(path).st_mode & 0o777 == 0o775
    for pod in ("a", "b"):
        writer.unpublish(pod)
    assert (csi_server.root / "written/file").read_bytes() == b"written by a pod", "it is stored when the last unpublish returns"
    writer.unstage()
    assert_nothing_left(node)


def test_mount_options_are_those_of_the_pods_mount(node, csi_server):
    volume = volume_of(node, csi_server, flags=("noexec", "uid=77", "mount.file_mode=0400"))
    volume.stage()
    path = volume.publish("a")
    options = next(line.split()[3] for line in Path("/proc/self/mounts").read_text().splitlines() if line.split()[1] == str(path))
    assert {"ro", "noexec", "nosuid", "nodev"} <= set(options.split(","))
    assert os.stat(path / "data").st_uid == 77 and os.stat(path / "data").st_mode & 0o777 == 0o400
    volume.unpublish("a")
    volume.unstage()


def test_calls_at_once_for_one_volume_are_served_one_by_one(node, csi_server):
    volume = volume_of(node, csi_server)
    volume.stage()

    def call(number):
        try:
            (volume.unpublish if number % 3 == 2 else volume.publish)(f"pod{number % 4}")
            return "OK"
        except grpc.RpcError as error:
            return error.code().name
    with ThreadPoolExecutor(12) as pool:
        results = list(pool.map(call, range(36)))
    assert set(results) <= {"OK", "ABORTED"}, results
    for pod in range(4):
        volume.publish(f"pod{pod}")
    assert len(node.daemons()) == 1 and len(mounts_below(node.pods)) == 4
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(volume.unpublish, [f"pod{pod}" for pod in range(4)]))
    volume.unstage()
    assert_nothing_left(node)


def test_the_drivers_death_disturbs_no_reader_and_its_successor_goes_on(node, csi_server):
    volume = volume_of(node, csi_server)
    volume.stage()
    path = volume.publish("a")
    with open(path / "data", "rb") as file:
        daemons = node.daemons()
        second = subprocess.run([*node.command()[:2], f"unix://{node.folder}/other.sock", *node.command()[3:]], check=False, timeout=30,
                                stderr=subprocess.PIPE, text=True)
        assert second.returncode == 1 and "in use" in second.stderr, "one driver a node"
        node.restart()
        assert file.read() == content.expected(0, 0, SIZE) and node.daemons() == daemons
    assert digest(volume.publish("b") / "data") == digest(csi_server.root / "first/data")
    assert node.daemons() == daemons, "it finds what its predecessor has started"
    node.end()
    assert digest(path / "data") and node.daemons() == daemons, "nor does an orderly end"
    node.start()
    for pod in ("a", "b"):
        volume.unpublish(pod)
    volume.unstage()
    assert_nothing_left(node)


def test_a_dead_daemon_is_reported_and_the_next_pod_has_a_new_one(node, csi_server):
    volume = volume_of(node, csi_server)
    volume.stage()
    path = volume.publish("a")
    healthy = volume.stats(path)
    assert not healthy.volume_condition.abnormal and {each.unit for each in healthy.usage} == {1, 2}
    os.kill(node.daemons()[0], signal.SIGKILL)
    eventually(lambda: volume.stats(path).volume_condition.abnormal, 10, "the condition says so")
    assert "died" in volume.stats(path).volume_condition.message
    assert digest(volume.publish("b") / "data") == digest(csi_server.root / "first/data")
    assert volume.stats(path).volume_condition.abnormal, "the first pod has to be restarted"
    for pod in ("a", "b"):
        volume.unpublish(pod)
    refused(Code.NOT_FOUND, volume.stats, path)
    volume.unstage()
    assert_nothing_left(node)


def test_a_hung_daemon_holds_no_call_longer_than_its_deadline(node, csi_server):
    volume = volume_of(node, csi_server)
    volume.stage()
    path = volume.publish("a")
    daemon = node.daemons()[0]
    os.kill(daemon, signal.SIGSTOP)
    try:
        began = time.monotonic()
        refused(Code.DEADLINE_EXCEEDED, volume.publish, "b", timeout=2)
        assert volume.stats(path).volume_condition.abnormal and time.monotonic() - began < 20
    finally:
        os.kill(daemon, signal.SIGCONT)
    eventually(lambda: not volume.stats(path).volume_condition.abnormal, 10, "it answers again")
    volume.unpublish("a")
    volume.unpublish("b")
    volume.unstage()
    eventually(lambda: not node.mounts(), 20, "all is gone")


def test_unpublish_of_what_is_in_use_disturbs_no_reader(node, csi_server):
    volume = volume_of(node, csi_server)
    volume.stage()
    busy, idle = volume.publish("busy"), volume.publish("idle")
    with open(busy / "data", "rb") as file:
        file.read(1000)
        assert "in use" in refused(Code.FAILED_PRECONDITION, volume.unpublish, "busy", timeout=2)
        volume.unpublish("idle")
        assert not idle.exists() and file.read() == content.expected(0, 1000, SIZE - 1000)
    volume.unpublish("busy")
    volume.unstage()
    assert_nothing_left(node)


def test_a_container_with_a_copy_of_the_nodes_mounts_delays_no_unpublish_for_good(node, csi_server):
    volume = volume_of(node, csi_server)
    volume.stage()
    volume.publish("a")
    other = subprocess.Popen(["unshare", "--mount", "--propagation", "private",
                              *leaving_other_mounts("sleep", "100", kept=node.folder)])
    try:
        eventually(lambda: str(node.folder) in Path(f"/proc/{other.pid}/mounts").read_text()
                   and os.readlink(f"/proc/{other.pid}/ns/mnt") != os.readlink("/proc/self/ns/mnt"), 10, "it has the copy")
        volume.unpublish("a")
    finally:
        other.kill()
        other.wait(10)
    volume.unstage()
    assert_nothing_left(node)


def test_a_server_that_is_down_fails_the_call_and_leaves_nothing(node, csi_server):
    with ReservedPort() as port:
        volume = volume_of(node, csi_server, endpoint__url=f"http://127.0.0.1:{port.number}")
        volume.stage()
        said = refused(Code.INTERNAL, volume.publish, "a")
        assert str(port.number) in said, said
    volume.unstage()
    assert_nothing_left(node)


def test_each_service_account_has_its_own_mount_and_its_newest_token(node, csi_server):
    service = KeyService(3600)
    try:
        volume = volume_of(node, csi_server, secrets={}, authentication="pod", roleArn=ROLE, credentials__sts_url=service.url)
        volume.stage()
        assert "tokenRequests" in refused(Code.FAILED_PRECONDITION, volume.publish, "a")
        tokens = {account: {**volume.context, **pod_context(account, WEB_TOKEN)} for account in ("trainer", "server")}
        first = volume.publish("a", volume_context=tokens["trainer"])
        assert volume.publish("b", volume_context=tokens["trainer"]) and len(node.daemons()) == 1
        volume.publish("c", volume_context=tokens["server"])
        assert len(node.daemons()) == 2 and digest(first / "data") == digest(csi_server.root / "first/data")
        volume.publish("a", volume_context={**volume.context, **pod_context("trainer", "the next token")})
        held = sorted((node.state / "mounts" / mount / "token").read_text() for mount in node.mounts())
        assert held == sorted([WEB_TOKEN, "the next token"]) and "next token" not in node.log.read_text()
        for pod in ("a", "b", "c"):
            volume.unpublish(pod)
        volume.unstage()
        assert_nothing_left(node)
    finally:
        service.stop()


def test_daemons_can_be_units_of_the_nodes_systemd(tmp_path, csi_modules, s3rdmafs, csi_server, monkeypatch):
    fake = fake_systemd_run(tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{fake}:{os.environ['PATH']}")
    node = Node(tmp_path, *csi_modules, s3rdmafs, "--daemons", "systemd")
    try:
        volume = volume_of(node, csi_server)
        volume.stage()
        assert digest(volume.publish("a") / "data") == digest(csi_server.root / "first/data")
        asked = (fake / "asked").read_text().splitlines()
        assert f"--unit=s3rdmafs-csi-{node.mounts()[0]}" in asked and "--service-type=forking" in asked
        volume.unpublish("a")
        volume.unstage()
        assert_nothing_left(node)
    finally:
        node.destroy()
