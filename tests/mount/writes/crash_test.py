# SPDX-License-Identifier: Apache-2.0
"""The daemon is killed while programs write, overwrite and rename. After the next mount each file that close or fsync has
acknowledged is whole under exactly one of its names, or under both where its rename was under way; every other is absent or
a whole version, and no upload that has parts is left. One without is left where the server's answer came too late.
S3RDMAFS_CRASHES sets how often; before a release 50."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest
from harness import crash_writer
from harness.mount import Mount
from harness.processes import eventually, is_alive, unmount_lazily
from harness.settings import STRESS_SECONDS
from harness.writing import client_of, uploads_with_parts_of

pytestmark = pytest.mark.needs_fuse

BUCKET = "crashed"
WRITERS = 12
CRASHES = int(os.environ.get("S3RDMAFS_CRASHES", "4" if STRESS_SECONDS >= 60 else "2"))


class Expected:
    """The findings that one writer's notes allow."""

    def __init__(self, notes):
        self.acknowledged, self.begun, self.moves = {}, {}, {}
        for line in notes.read_text().splitlines():
            what, name, value = line.split()
            if what == "begun":
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


def bytes_of(folder):
    def found(name):
        try:
            return (folder / name).read_bytes()
        except FileNotFoundError:
            return None
    return found


def crash(site, file, point, folder, tmp_path):
    """Mounts, writes, kills the daemon in the middle; the writers' notes."""
    mounted = Mount(site.s3rdmafs, file, point)
    (point / folder).mkdir()
    notes = [tmp_path / f"{folder}-{number}.notes" for number in range(WRITERS)]
    writers = [subprocess.Popen([sys.executable, "-B", crash_writer.__file__, point / folder, str(number), note])
               for number, note in enumerate(notes)]
    try:
        eventually(lambda: all(note.exists() and "closed" in note.read_text() for note in notes), 120, "all writers write")
        time.sleep(random.uniform(0, 2))
    finally:
        os.kill(mounted.pid, signal.SIGKILL)
        eventually(lambda: not is_alive(mounted.pid), 20, "the daemon is dead")
        unmount_lazily(str(point))
        for writer in writers:
            assert writer.wait(60) == 0
    return [Expected(note) for note in notes]


@pytest.mark.parametrize("mode", ["sequential"])
def test_acknowledged_files_are_whole_after_the_daemon_is_killed(site, tmp_path, mode):
    server = site.target()
    (server.root / BUCKET).mkdir()
    point = tmp_path / "mnt"
    file = site.mount_file(server, BUCKET, write={"mode": mode, "buffer_size": "128MiB"})
    for round_number in range(CRASHES):
        folder = f"round{round_number}"
        expected = crash(site, file, point, folder, tmp_path)
        mounted = Mount(site.s3rdmafs, file, point)
        try:
            problems = [problem for one in expected for problem in one.problems(bytes_of(point / folder))]
            assert not problems, "\n".join(problems[:20])
            client = client_of(server, BUCKET)
            eventually(lambda: not uploads_with_parts_of(client), 60, "the next mount has aborted the uploads of the one before")
        finally:
            mounted.destroy()


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
