# SPDX-License-Identifier: Apache-2.0
"""Programs write where another client, or another descriptor, changed what the mount knew: bytes of others stay,
what was removed stays away, and close(2) tells of what was not stored. See s3rdmafs-semantics(7), WRITING."""

import errno
import os
import subprocess

import pytest
from harness.mount import total
from harness.processes import eventually
from harness.writing import PART, fails_with, folder_for

pytestmark = pytest.mark.needs_fuse

BUCKET = "shared"
SHELL_SECONDS = 120


@pytest.fixture(scope="module")
def server(shared_site):
    return shared_site.target(bucket=BUCKET)


@pytest.fixture(scope="module")
def mounted(shared_site, server):
    """Names and attributes are cached for longer than any test lasts."""
    return shared_site.mount(server, BUCKET, metadata={"ttl": "1h", "negative_ttl": "1h"},
                             write={"mode": "sequential", "buffer_size": "64MiB"})


@pytest.fixture
def folder(mounted, server, request):
    return folder_for(request, mounted, server.root / BUCKET)


@pytest.fixture
def settled(mounted):
    """Waits until all that programs have written is at the server."""
    def wait():
        eventually(lambda: total(mounted.stats(), "upload_objects_in_progress") == 0, 60, "all is stored")
    return wait


def shell(script, at):
    return subprocess.run(["bash", "-c", script], cwd=at, capture_output=True, text=True, timeout=SHELL_SECONDS,
                          check=False)


# The mount's knowledge is out of date

APPENDERS = {
    "touch": "touch file",
    "echo >>": "echo ours >> file",
    "tee -a": "echo ours | tee -a file",
    "python a": "/usr/bin/python3 -c 'open(\"file\", \"ab\").write(b\"ours\\n\")'",
}


@pytest.mark.parametrize("program", APPENDERS)
def test_bytes_of_another_client_survive_a_mount_that_knew_the_file_as_empty(folder, settled, program):
    at, stored = folder
    (stored / "file").write_bytes(b"")
    assert (at / "file").stat().st_size == 0
    (stored / "file").write_bytes(b"theirs")
    told = shell(APPENDERS[program], at)
    settled()
    assert (stored / "file").read_bytes() == b"theirs"
    if program != "touch":  # which only wants the file to be there
        assert told.returncode != 0
    assert (at / "file").read_bytes() == b"theirs"


@pytest.mark.parametrize("program", APPENDERS)
def test_bytes_of_another_client_survive_a_mount_that_knew_of_no_file(folder, settled, program):
    at, stored = folder
    assert not (at / "file").exists()
    (stored / "file").write_bytes(b"theirs")
    shell(APPENDERS[program], at)
    settled()
    assert (stored / "file").read_bytes() == b"theirs"


@pytest.mark.parametrize("program", APPENDERS)
def test_without_interference_the_same_programs_write(folder, settled, program):
    at, stored = folder
    for make in ("", "touch file && "):
        assert shell(make + APPENDERS[program], at).returncode == 0
        settled()
        assert (stored / "file").read_bytes() == (b"" if program == "touch" else b"ours\n")
        os.unlink(at / "file")


def test_bytes_that_came_while_a_new_file_was_written_are_not_replaced(folder, settled):
    at, stored = folder
    for size in (0, 5, PART + 5):
        file = os.open(at / f"file{size}", os.O_WRONLY | os.O_CREAT)
        os.write(file, b"x" * size)
        (stored / f"file{size}").write_bytes(b"theirs")
        with fails_with(errno.ESTALE):
            os.close(file)
        settled()
        assert (stored / f"file{size}").read_bytes() == b"theirs"


def test_truncating_goes_by_the_size_that_the_store_has(folder):
    at, stored = folder
    (stored / "file").write_bytes(b"old")
    assert (at / "file").stat().st_size == 3
    (stored / "file").write_bytes(b"longer")
    with fails_with(errno.EOPNOTSUPP):
        os.truncate(at / "file", 3)
    assert (stored / "file").read_bytes() == b"longer"
    os.truncate(at / "file", 6)
    (stored / "file").write_bytes(b"much longer")
    os.truncate(at / "file", 0)
    assert (stored / "file").read_bytes() == b""
    assert (at / "file").stat().st_size == 0
    (stored / "file").write_bytes(b"longer")
    os.truncate(at / "file", 0)
    assert (stored / "file").read_bytes() == b"", "it was known as empty"
    os.unlink(stored / "file")
    with fails_with(errno.ENOENT):
        os.truncate(at / "file", 0)
    assert not (stored / "file").exists()


def test_a_file_that_is_being_overwritten_is_listed(folder):
    at, stored = folder
    for name in ("before", "file"):
        (stored / name).write_bytes(b"old")
    file = os.open(at / "file", os.O_WRONLY | os.O_TRUNC)
    try:
        assert sorted(os.listdir(at)) == ["before", "file"]
        assert sorted(entry.name for entry in os.scandir(at) if entry.stat()) == ["before", "file"]
    finally:
        os.close(file)
    assert sorted(os.listdir(at)) == ["before", "file"]


# Empty files

EMPTY_FILES = """
set -e
for round in 1 2 3 4 5 6 7 8 9 10; do
    touch file; cat file; echo $round > file; test "$(cat file)" = $round; rm file
    mkdir d; touch d/a d/b; test "$(ls d | tr '\\n' ' ')" = 'a b '; rm -rf d; test ! -e d
    : > made; test -e made; rm made
done
"""


def test_an_empty_file_is_there_when_its_close_has_returned(folder):
    at, stored = folder
    told = shell(EMPTY_FILES, at)
    assert told.returncode == 0, told.stderr
    assert not told.stderr
    assert os.listdir(stored) == []


def test_the_close_of_an_empty_file_tells_that_it_was_not_stored(folder, settled):
    at, stored = folder
    (stored / "existing").write_bytes(b"old")
    existing = os.open(at / "existing", os.O_WRONLY | os.O_TRUNC)
    os.unlink(stored / "existing")
    (stored / "existing").mkdir()  # as a key it would be file and folder at once: the target refuses
    (stored / "existing/in_it").write_bytes(b"x")
    with pytest.raises(OSError):
        os.close(existing)
    for script in ("touch _SUCCESS", "cp /dev/null _SUCCESS"):
        (at / "d").mkdir()
        assert os.listdir(at / "d") == []
        os.rmdir(stored / "d")
        (stored / "d").write_bytes(b"a file: the target refuses keys below it")
        told = shell("cd d && " + script, at)
        assert told.returncode != 0, "not told by: " + script
        settled()
        os.unlink(stored / "d")
        os.rmdir(at / "d")


def test_a_shell_that_moves_its_descriptor_does_not_empty_the_file(folder):
    at, stored = folder
    (at / "file").write_bytes(b"old")
    bash = subprocess.Popen(["bash"], cwd=at, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def say(command):
        bash.stdin.write(command + "; echo said\n")
        bash.stdin.flush()
        assert bash.stdout.readline() == "said\n"

    try:
        say("exec 5> file")
        assert (stored / "file").read_bytes() == b"old"
        say("echo new >&5; echo words >&5; exec 5>&-")
        assert (stored / "file").read_bytes() == b"new\nwords\n"
    finally:
        bash.communicate(timeout=SHELL_SECONDS)


def test_bytes_may_follow_a_close_that_stored_an_empty_file(folder, settled):
    at, stored = folder
    with open(at / "file", "wb") as file:
        child = subprocess.Popen(["bash", "-c", "read go; echo late"], stdin=subprocess.PIPE, stdout=file, text=True)
    try:
        assert (stored / "file").read_bytes() == b""
    finally:
        child.communicate("go\n", timeout=SHELL_SECONDS)
    settled()
    assert (stored / "file").read_bytes() == b"late\n"


# A descriptor that goes on after its file was stored

def stored_once(how, at):
    """A descriptor whose first bytes are an object already."""
    file = os.open(at / "file", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.write(file, b"some")
    if how == "fsync":
        os.fsync(file)
    else:
        os.close(os.dup(file))
    assert (at / "file").read_bytes() == b"some"
    return file


@pytest.mark.parametrize("how", ["fsync", "close of a copy"])
def test_a_removed_file_stays_away_when_its_descriptor_goes_on(folder, settled, how):
    at, stored = folder
    file = stored_once(how, at)
    os.unlink(at / "file")
    os.write(file, b"more")
    assert not (at / "file").exists()
    os.close(file)
    settled()
    assert not (stored / "file").exists() and not (at / "file").exists()


@pytest.mark.parametrize("how", ["fsync", "close of a copy"])
def test_a_second_writers_bytes_stay_when_the_first_goes_on(folder, settled, how):
    at, stored = folder
    file = stored_once(how, at)
    (at / "file").write_bytes(b"second")
    with fails_with(errno.ESTALE):
        os.write(file, b"more")
    os.close(file)
    settled()
    assert (stored / "file").read_bytes() == b"second"


@pytest.mark.parametrize("how", ["fsync", "close of a copy"])
def test_an_object_put_or_removed_by_another_client_stays_so_when_a_descriptor_goes_on(folder, settled, how):
    at, stored = folder
    for theirs in (b"theirs", None):
        file = stored_once(how, at)
        os.unlink(stored / "file")
        if theirs:
            (stored / "file").write_bytes(theirs)
        os.write(file, b"more")
        with fails_with(errno.ESTALE):
            os.close(file)
        settled()
        assert ((stored / "file").read_bytes() if theirs else (stored / "file").exists()) == (theirs or False)


@pytest.mark.parametrize("how", ["fsync", "close of a copy"])
def test_without_interference_a_descriptor_goes_on(folder, how):
    at, stored = folder
    file = stored_once(how, at)
    os.write(file, b"more")
    os.close(file)
    assert (stored / "file").read_bytes() == b"somemore"


# Several writers of one name

WRITE_AGAIN_AND_AGAIN = """
import os, sys
for _ in range(40):
    try:
        with open("file", "wb", buffering=0) as file:
            file.write(sys.argv[1].encode())
    except OSError as error:
        print(error.errno)
"""


def test_writers_that_meet_hear_that_the_file_is_busy_and_nothing_else(folder):
    at, stored = folder
    writers = [subprocess.Popen(["/usr/bin/python3", "-c", WRITE_AGAIN_AND_AGAIN, f"writer {number}"], cwd=at,
                                stdout=subprocess.PIPE, text=True) for number in range(4)]
    heard = [writer.communicate(timeout=SHELL_SECONDS)[0].split() for writer in writers]
    assert [writer.returncode for writer in writers] == [0] * 4
    assert {int(number) for numbers in heard for number in numbers} <= {errno.EBUSY}
    assert (stored / "file").read_bytes() in {f"writer {number}".encode() for number in range(4)}
