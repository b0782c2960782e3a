# SPDX-License-Identifier: Apache-2.0
"""Objects made resident ahead of time, by `s3rdmafs warm` and [[resident]]: reads of them do not ask the daemon,
whatever their size, and other readers are not held up."""

import os
import signal
import subprocess

import pytest
from harness import content
from harness.mount import COMMAND_SECONDS, GET_BYTES, total
from harness.processes import eventually
from harness.units import MIB

pytestmark = [pytest.mark.needs_fuse, pytest.mark.needs_passthrough]

BUCKET = "warm"
LARGE = 200 * MIB + 4321  # beyond cache.passthrough_max
SMALL = 3 * MIB + 17
CACHE = {"size": "320MiB", "resident_size": "256MiB"}
OPENS = "fuse_opens_total"


def fill(target, **sizes):
    for number, (name, size) in enumerate(sizes.items()):
        content.write(target.root / BUCKET / "d" / name, number, size)
    return target


def warm(mount, *arguments):
    return subprocess.run([mount.program, "warm", mount.point, *arguments], check=False, timeout=COMMAND_SECONDS,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def outcome(result):
    """The last line; a slow machine shows the progress before it."""
    return result.stdout.splitlines()[-1]


def check(path, number, size):
    wrong = content.difference(path.read_bytes(), number, 0, size)
    assert not wrong, wrong


def test_a_warm_object_is_read_without_the_daemon_whatever_its_size(site):
    mounted = site.mount(fill(site.target(), large=LARGE, small=SMALL, tiny=100), BUCKET, cache=CACHE)
    result = warm(mounted, mounted / "d")
    assert result.returncode == 0, result.stderr
    assert outcome(result).startswith("3 objects resident, 203.0 MiB; fetched 3"), result.stdout
    fetched = total(mounted.stats(), GET_BYTES)
    for number, (name, size) in enumerate([("large", LARGE), ("small", SMALL), ("tiny", 100)]):
        check(mounted / "d" / name, number, size)
    stats = mounted.stats()
    assert total(stats, "fuse_read_bytes_total") == 0
    assert total(stats, OPENS, 'mode="passthrough"') == 3
    assert total(stats, GET_BYTES) == fetched
    again = warm(mounted, "d")
    assert again.returncode == 0
    assert outcome(again) == "3 objects resident, 203.0 MiB; 3 already were"


def test_a_large_object_that_is_not_warm_asks_the_daemon(site):
    """The control of the test above."""
    mounted = site.mount(fill(site.target(), large=LARGE), BUCKET, cache=CACHE)
    check(mounted / "d" / "large", 0, LARGE)
    assert total(mounted.stats(), OPENS, 'mode="passthrough"') == 0
    assert total(mounted.stats(), "fuse_read_bytes_total") == LARGE


def test_a_pattern_is_what_matches_it(site):
    mounted = site.mount(fill(site.target(), a1=SMALL, a2=SMALL, b1=SMALL), BUCKET, cache=CACHE)
    assert warm(mounted, "d/a?").returncode == 0
    assert total(mounted.stats(), "cache_object_kept") == 2
    result = warm(mounted, "--release", mounted / "d" / "a1")
    assert (result.returncode, outcome(result)) == (0, "released 1 object, 3.0 MiB")
    assert total(mounted.stats(), "cache_object_kept") == 1


def test_a_missing_path_fails_and_the_others_are_done(site):
    mounted = site.mount(fill(site.target(), a=SMALL), BUCKET, cache=CACHE)
    result = warm(mounted, "d/nothing", "d/a")
    assert result.returncode == 32
    assert "d/nothing: no such file or directory" in result.stderr
    assert total(mounted.stats(), "cache_object_kept") == 1
    outside = warm(mounted, "/etc/passwd")
    assert outside.returncode == 32
    assert "is not below" in outside.stderr


def test_an_object_that_does_not_fit_is_told_with_the_setting_to_raise(site):
    mounted = site.mount(fill(site.target(), a=SMALL, b=90 * MIB), BUCKET,
                         cache={"size": "128MiB", "resident_size": "64MiB"})
    result = warm(mounted, "d")
    assert result.returncode == 32
    assert "it takes 90MiB, and whole objects have 64MiB in all" in result.stderr
    assert "cache.resident_size" in result.stderr
    assert "1 object resident" in result.stdout
    check(mounted / "d" / "b", 1, 90 * MIB)


def test_opens_are_answered_as_before_where_all_room_is_kept(site):
    names = {name: SMALL for name in "abcdef"}
    mounted = site.mount(fill(site.target(), **names), BUCKET, cache={"size": "72MiB", "resident_size": "8MiB"})
    assert warm(mounted, "d/a", "d/b").returncode == 0
    for _ in range(2):
        for number, name in enumerate(names):
            check(mounted / "d" / name, number, SMALL)
    stats = mounted.stats()
    assert total(stats, OPENS, 'mode="passthrough"') == 4, "a and b are still there"
    assert total(stats, "passthrough_declined_total", 'reason="no_room"') == 8
    assert total(stats, "cache_object_bytes") <= 8 * MIB
    assert warm(mounted, "--release", "d").returncode == 0
    check(mounted / "d" / "c", 2, SMALL)
    assert total(mounted.stats(), OPENS, 'mode="passthrough"') == 5


def test_an_object_that_was_replaced_is_served_new(site):
    target = fill(site.target(), a=LARGE)
    mounted = site.mount(target, BUCKET, cache=CACHE, metadata={"ttl": "0s"})
    assert warm(mounted, "d/a").returncode == 0
    check(mounted / "d" / "a", 0, LARGE)
    content.write(target.root / BUCKET / "d" / "a", 7, SMALL)
    check(mounted / "d" / "a", 7, SMALL)
    assert warm(mounted, "d/a").returncode == 0
    assert total(mounted.stats(), "cache_object_kept") == 1, "the old version was let go"
    check(mounted / "d" / "a", 7, SMALL)


def test_after_a_restart_nothing_is_warm_and_can_be_again(site):
    target = fill(site.target(), a=LARGE)
    mounted = site.mount(target, BUCKET, cache=CACHE)
    assert warm(mounted, "d/a").returncode == 0
    mounted.unmount()
    gone = warm(mounted, "d/a")
    assert gone.returncode == 32
    assert "has no s3rdmafs mounted" in gone.stderr
    again = site.mount(target, BUCKET, cache=CACHE)
    assert total(again.stats(), "cache_object_kept") == 0
    assert "fetched 1" in warm(again, "d/a").stdout


def test_an_interrupt_stops_it(site):
    target = fill(site.target("--fault", "delay-transfer:300ms@get"), **{f"f{n}": SMALL for n in range(40)})
    mounted = site.mount(target, BUCKET, cache=CACHE)
    verb = subprocess.Popen([mounted.program, "warm", mounted.point, "d"], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT)
    eventually(lambda: total(mounted.stats(), "cache_object_kept") > 0, 30, "it has begun")
    verb.send_signal(signal.SIGINT)
    verb.communicate(timeout=30)
    assert verb.returncode != 0
    result = warm(mounted, "--release", "d")  # is answered when the interrupted one has ended
    assert result.returncode == 0, result.stderr
    assert 0 < total(mounted.stats(), "get_bytes_total") < 40 * SMALL
    os.stat(mounted / "d" / "f0")


def test_resident_globs_are_fetched_after_the_mount_and_kept(site):
    target = fill(site.target(), large=LARGE, other=SMALL)
    mounted = site.mount(target, BUCKET, resident=[{"glob": "d/l*"}], cache=CACHE)
    eventually(lambda: total(mounted.stats(), "resident_objects", 'state="resident"') == 1, 60, "it is resident")
    check(mounted / "d" / "large", 0, LARGE)
    stats = mounted.stats()
    assert total(stats, "fuse_read_bytes_total") == 0
    assert total(stats, "resident_objects", 'state="wanted"') == 1
    assert total(stats, "cache_object_kept_bytes") == LARGE


def test_resident_globs_are_tried_again_after_a_failure(site):
    target = fill(site.target("--fault", "cut-before@get@1"), a=SMALL)
    mounted = site.mount(target, BUCKET, resident=[{"glob": "d"}], cache=CACHE, retry={"attempts_max": 1},
                         rdma={"mode": "require"})
    eventually(lambda: total(mounted.stats(), "resident_objects", 'state="resident"') == 1, 60, "it is resident")
    assert total(mounted.stats(), "resident_failures_total") > 0, "the control: it failed at first"


@pytest.fixture
def recording(tmp_path):
    """Begins to record a mount; `end()` writes the trace and returns its lines."""
    class Recording:
        file, verb = tmp_path / "job.trace", None

        def begin(self, mount):
            self.verb = subprocess.Popen([mount.program, "warm", mount.point, "--record", self.file], text=True,
                                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            assert "recording" in self.verb.stdout.readline()

        def end(self):
            self.verb.send_signal(signal.SIGTERM)
            self.printed = self.verb.communicate(timeout=COMMAND_SECONDS)
            return self.file.read_text().splitlines()[1:]

    made = Recording()
    yield made
    if made.verb and made.verb.poll() is None:
        made.verb.kill()
        made.verb.communicate()


def test_a_recording_fetches_ahead_of_the_next_run_what_the_job_read(site, recording):
    target = fill(site.target(), a=SMALL, b=SMALL, c=100, **{"with space": 7})
    mounted = site.mount(target, BUCKET, cache=CACHE)
    (mounted / "d" / "c").read_bytes()
    recording.begin(mounted)
    for name in ("with space", "b", "with space", "a"):
        (mounted / "d" / name).read_bytes()
    lines = recording.end()
    assert recording.verb.returncode == 0, recording.printed
    assert [line.split(" ")[1:2] + line.split(" ")[3:] for line in lines] == [
        ["7", "d/with%20space"], [str(SMALL), "d/b"], [str(SMALL), "d/a"]]

    again = site.mount(target, BUCKET, cache=CACHE)
    result = warm(again, "--from-trace", recording.file, "--cached")
    assert (result.returncode, result.stderr) == (0, "")
    assert outcome(result).startswith("3 objects read into the cache, 6.0 MiB; fetched 3"), result.stdout
    fetched = total(again.stats(), GET_BYTES)
    for number, name in enumerate(("a", "b")):
        check(again / "d" / name, number, SMALL)
    assert total(again.stats(), GET_BYTES) == fetched, "the job finds all that it read before"
    check(again / "d" / "c", 2, 100)
    assert total(again.stats(), GET_BYTES) == fetched + 100, "the control: this one was not recorded"


def test_objects_of_a_trace_that_were_replaced_are_fetched_as_they_are(site, recording):
    target = fill(site.target(), a=SMALL, b=SMALL)
    mounted = site.mount(target, BUCKET, cache=CACHE)
    recording.begin(mounted)
    for name in ("a", "b"):
        (mounted / "d" / name).read_bytes()
    recording.end()
    content.write(target.root / BUCKET / "d" / "a", 9, SMALL)
    (target.root / BUCKET / "d" / "b").unlink()
    again = site.mount(target, BUCKET, cache=CACHE)
    result = warm(again, "--from-trace", recording.file)
    assert result.returncode == 32
    assert "d/b: no such file" in result.stderr
    assert outcome(result).startswith("1 object resident"), result.stdout
    check(again / "d" / "a", 9, SMALL)
    assert total(again.stats(), "fuse_read_bytes_total") == 0


def test_a_manifest_names_what_is_fetched_and_the_pace_leaves_room(site, tmp_path):
    target = fill(site.target(), a=SMALL, b=SMALL)
    mounted = site.mount(target, BUCKET, cache=CACHE)
    manifest = tmp_path / "names"
    subprocess.run([mounted.program, "manifest", mounted.file, "-o", manifest], check=True, timeout=COMMAND_SECONDS,
                   stdout=subprocess.DEVNULL)
    result = warm(mounted, "--from-manifest", manifest, "--cached", "--rate", "2MiB")
    assert result.returncode == 0, result.stderr
    assert "2 objects read into the cache, 6.0 MiB" in outcome(result)
    seconds = float(outcome(result).split(" in ")[1].split(" s")[0])
    assert seconds > 1.4, "the second object waits until the first has had its time"


def test_bad_traces_and_a_second_recording_say_what_to_do(site, tmp_path, recording):
    mounted = site.mount(fill(site.target(), a=SMALL), BUCKET, cache=CACHE)
    (tmp_path / "list").write_text("d/a\n")
    refused = warm(mounted, "--from-trace", tmp_path / "list")
    assert refused.returncode == 32 and "warm --record" in refused.stderr
    recording.begin(mounted)
    second = warm(mounted, "--record", tmp_path / "other")
    assert second.returncode == 32 and "another recording" in second.stderr
    assert not (tmp_path / "other").exists()
    mounted.unmount()
    assert recording.verb.wait(COMMAND_SECONDS) == 32, "the mount has ended"
    assert recording.file.read_text().startswith("# s3rdmafs trace 1")
