# SPDX-License-Identifier: Apache-2.0
"""The daemon is killed while programs write, overwrite and rename. After the next mount each file that close or fsync has
acknowledged is whole under exactly one of its names, or under both where its rename was under way; every other is absent or
a whole version, and no upload is left. Staged bytes that were not stored are listed by `s3rdmafs recover`, which sends them.
S3RDMAFS_CRASHES sets how often, S3RDMAFS_CRASH_WRITERS among how many writers; before a release 50 and 100."""

import json
import os
import random
import subprocess
import sys
import time

import pytest
from harness import crash_writer
from harness.mount import Mount
from harness.processes import eventually
from harness.settings import STRESS_SECONDS
from harness.writing import client_of, uploads_of

pytestmark = pytest.mark.needs_fuse

BUCKET = "crashed"
WRITERS = int(os.environ.get("S3RDMAFS_CRASH_WRITERS", "12"))
CRASHES = int(os.environ.get("S3RDMAFS_CRASHES", "4" if STRESS_SECONDS >= 60 else "2"))
DELAY_MS = 200  # of each answer, where one must be late


class Expected:
    """The findings that one writer's notes allow."""

    def __init__(self, notes):
        self.acknowledged, self.begun, self.moves, self.written = {}, {}, {}, {}
        for line in notes.read_text().splitlines():
            what, name, value, *place = line.split()
            if what == "written":
                self.written.setdefault((name, int(value)), []).append(tuple(map(int, place)))
            elif what == "begun":
                self.begun[name] = int(value)
            elif what == "closed":
                self.acknowledged[name] = int(value)
            else:
                self.moves[name] = (value, what == "renamed")

    def problems(self, found):
        """@param found  the bytes of a name, or None"""
        for name, generation in self.begun.items():
            allowed = {generation, *([self.acknowledged[name]] if name in self.acknowledged else [])}
            must = self.acknowledged.get(name) == generation
            new, is_renamed = self.moves.get(name, (None, False))
            places = {place: found(place) for place in (name, new) if place}
            there = {place: data for place, data in places.items() if data is not None}
            if is_renamed and name in there:
                yield f"{name} is still there after its rename"
            most = 2 if new and not is_renamed else 1
            if must and not there or len(there) > most:
                yield f"{name} was acknowledged: {must}; it is found as {sorted(there)}"
            for place, data in there.items():
                if not any(data == crash_writer.content_of(name, allowed_one) for allowed_one in allowed):
                    yield f"{place} has {len(data)} wrong bytes, of generations {allowed}"


    def unfinished(self):
        """(names, content, written) of each file that was being written, and not yet closed: the names that it may have,
        and the pieces of which the mount said that they are written."""
        for (name, generation), written in self.written.items():
            if self.begun[name] == generation and self.acknowledged.get(name) != generation:
                names = {name, self.moves.get(name, (name, None))[0]}
                yield names, crash_writer.content_of(name, generation), written

    def lost(self, found, listed):
        """The staged files of which bytes are neither listed nor stored."""
        for names, content, _ in self.unfinished():
            if not names & listed and not any(found(name) == content for name in names):
                yield f"{sorted(names)} were written, and are not listed"

    def missing(self, found):
        """The pieces that are not there although all staged files were sent."""
        for names, content, written in self.unfinished():
            there = [data for name in names if (data := found(name)) is not None]
            if not any(all(data[at:at + size] == content[at:at + size] for at, size in written) for data in there):
                yield f"{sorted(names)} lack some of {len(written)} pieces; found {[len(data) for data in there]} bytes"


def bytes_of(folder):
    def found(name):
        try:
            return (folder / name).read_bytes()
        except FileNotFoundError:
            return None
    return found


def crash(site, file, point, folder, tmp_path, mode):
    """Mounts, writes, kills the daemon in the middle; the writers' notes."""
    mounted = Mount(site.s3rdmafs, file, point)
    (point / folder).mkdir()
    notes = [tmp_path / f"{folder}-{number}.notes" for number in range(WRITERS)]
    writers = [subprocess.Popen([sys.executable, "-B", crash_writer.__file__, point / folder, str(number), note, mode])
               for number, note in enumerate(notes)]
    try:
        eventually(lambda: all(note.exists() and "closed" in note.read_text() for note in notes), 120, "all writers write")
        time.sleep(random.uniform(0, 2))
    finally:
        mounted.kill()
        for writer in writers:
            assert writer.wait(60) == 0
    return [Expected(note) for note in notes]


def recover(site, file, point, *options):
    """The report of `s3rdmafs recover` on each file."""
    told = subprocess.run([site.s3rdmafs, "recover", file, point, "--json", *options], check=False, timeout=120,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert told.returncode == 0, told.stdout + told.stderr
    return json.loads(told.stdout)["files"]


def assert_recovered(site, file, point, folder, expected, staging, stored):
    """All bytes that were written before the crash are listed, and all are stored after they were sent."""
    listed = {one["key"].removeprefix(f"{folder}/") for one in recover(site, file, point)}
    problems = [problem for one in expected for problem in one.lost(bytes_of(stored), listed)]
    assert not problems, "\n".join(problems[:20])
    sent = recover(site, file, point, "--send")
    assert all(one["outcome"] == "sent" for one in sent), sent
    assert listed == {one["key"].removeprefix(f"{folder}/") for one in sent}
    problems = [problem for one in expected for problem in one.missing(bytes_of(stored))]
    assert not problems, "\n".join(problems[:20])
    assert not [name for name in os.listdir(staging) if "lock" not in name]
    return len(listed)


@pytest.mark.parametrize("mode", ["sequential", "staged", pytest.param("passed", marks=pytest.mark.needs_passthrough)])
def test_acknowledged_files_are_whole_after_the_daemon_is_killed(site, tmp_path, mode):
    server = site.target()
    (server.root / BUCKET).mkdir()
    point, staging = tmp_path / "mnt", tmp_path / "staging"
    # A sequential writer holds a part buffer; those of some must not wait for all others.
    writes = {"mode": mode, "buffer_size": f"{max(128, 12 * WRITERS)}MiB", "staging_dir": str(staging)}
    if mode == "passed":  # staged, and the kernel writes new files by itself
        mode = writes["mode"] = "staged"
        writes = site.on_tmpfs(writes)
    file = site.mount_file(server, BUCKET, write=writes)
    listed = 0
    for round_number in range(CRASHES):
        folder = f"round{round_number}"
        expected = crash(site, file, point, folder, tmp_path, mode)
        mounted = Mount(site.s3rdmafs, file, point)
        try:
            problems = [problem for one in expected for problem in one.problems(bytes_of(point / folder))]
            assert not problems, "\n".join(problems[:20])
            client = client_of(server, BUCKET)
            eventually(lambda: not uploads_of(client), 60, "the next mount has aborted the uploads of the one before")
        finally:
            mounted.destroy()
        if mode == "staged":
            listed += assert_recovered(site, file, point, folder, expected, staging, server.root / BUCKET / folder)
    assert mode != "staged" or listed, "some files were being written"


def test_an_upload_that_the_killed_daemon_never_heard_of_is_aborted(site, tmp_path):
    """The server answers so late that the daemon is killed between its question and the upload's beginning."""
    server = site.target("--delay", f"{DELAY_MS}ms", "--behave-as", "aistor")
    (server.root / BUCKET).mkdir()
    point, state = tmp_path / "mnt", tmp_path / "state"
    file = site.mount_file(server, BUCKET, write={"mode": "sequential", "buffer_size": "64MiB", "state_dir": str(state)})
    client = client_of(server, BUCKET)

    def is_begun_for_a_killed_daemon():
        mounted = Mount(site.s3rdmafs, file, point)
        with subprocess.Popen(["dd", "if=/dev/zero", f"of={point / 'file'}", "bs=1M", "count=20"], stderr=subprocess.DEVNULL):
            eventually(lambda: b"upload-asked" in (state / "uploads").read_bytes(), 60, "the daemon asks for an upload")
            mounted.kill()
        time.sleep(DELAY_MS * 2 / 1000)
        return uploads_of(client, "file")
    # The daemon notes the question just before it sends it, so it may be dead by then.
    eventually(is_begun_for_a_killed_daemon, 60, "the server begins the upload all the same")
    theirs = begin_upload(client, "file", tmp_path)
    mounted = Mount(site.s3rdmafs, file, point)
    try:
        eventually(lambda: uploads_of(client, "file", "UploadId") == [theirs], 60, "the other client's upload alone is left")
    finally:
        mounted.destroy()


def begin_upload(client, key, folder):
    """Another client's upload of the key, with a part; its id."""
    upload = json.loads(client.run("s3api", "create-multipart-upload", "--bucket", client.bucket, "--key", key))["UploadId"]
    (folder / "part").write_bytes(b"part")
    client.run("s3api", "upload-part", "--bucket", client.bucket, "--key", key, "--upload-id", upload, "--part-number", "1",
               "--body", str(folder / "part"))
    return upload


def test_the_check_finds_a_lost_and_a_doubled_file(tmp_path):
    notes = tmp_path / "notes"
    notes.write_text("begun a 1\nclosed a 1\nrenaming a b\nrenamed a b\n")
    whole = crash_writer.content_of("a", 1)
    expected = Expected(notes)
    assert list(expected.problems({}.get))
    assert list(expected.problems({"a": whole, "b": whole}.get))
    assert list(expected.problems({"a": whole[:-1]}.get))
    assert not list(expected.problems({"b": whole}.get))
    notes.write_text("begun a 1\nclosed a 1\nrenaming a b\n")
    assert list(Expected(notes).problems({"a": whole, "b": whole[:-1]}.get))
    assert not list(Expected(notes).problems({"a": whole, "b": whole}.get)), "the daemon did not hear of the copy"


def test_the_check_finds_staged_bytes_that_are_lost(tmp_path):
    notes = tmp_path / "notes"
    notes.write_text("begun a 1\nwritten a 1 0 100\nwritten a 1 200 100\n")
    content = crash_writer.content_of("a", 1)
    expected = Expected(notes)
    assert list(expected.lost({}.get, set()))
    assert not list(expected.lost({}.get, {"a"}))
    assert not list(expected.lost({"a": content}.get, set())), "the server stored it just before"
    assert list(expected.missing({}.get))
    assert list(expected.missing({"a": content[:299]}.get))
    assert not list(expected.missing({"a": content[:100] + bytes(100) + content[200:300]}.get))
    notes.write_text("begun a 1\nwritten a 1 0 100\nclosed a 1\n")
    assert not list(Expected(notes).lost({}.get, set())), "problems() looks for it"
