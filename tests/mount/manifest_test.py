# SPDX-License-Identifier: Apache-2.0
"""A mount that takes its names from a manifest: it asks the server for bytes only, costs no memory for its keys, and
tells an object that has changed. The target's log shows its requests, and a mount without a manifest is the control."""

import errno
import os
import re
import subprocess

import pytest
from harness import content
from harness.mount import COMMAND_SECONDS, MountFailed, total

pytestmark = pytest.mark.needs_fuse

MIB = 1 << 20
BUCKET = "names"
DIRECTORIES, FILES = 20, 60
SIZE = 5_000


def manifest(site, *arguments, status=0):
    """`s3rdmafs manifest`, as a user types it."""
    result = subprocess.run([site.s3rdmafs, "manifest", *arguments], check=False, timeout=4 * COMMAND_SECONDS,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert result.returncode == status, result.stderr
    return result


def write_manifest(site, server, *arguments, **sections):
    path = site.folder / "manifest"
    manifest(site, site.mount_file(server, BUCKET, **sections), "-o", path, *arguments)
    return path


def inventory(folder, keys):
    """The CSV file of an inventory that has these keys, with sizes that tell them apart."""
    path = folder / "inventory.csv"
    with open(path, "w", encoding="ascii") as file:
        for number, key in enumerate(keys):
            file.write(f'"{BUCKET}","{key}","{number}","2026-01-02T03:04:05.000Z","e{number}"\n')
    return path


def names_asked(server):
    """How many LIST and HEAD requests the target has answered."""
    return len(re.findall(r"ListObjects|HeadObject|HeadBucket", server.log.read_text()))


def requests(mounted, operation):
    return total(mounted.stats(), "s3_requests_total", f'operation="{operation}"')


def walk(top):
    """Every file below `top` with its size, each looked up and listed."""
    sizes = {}
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            sizes[os.path.relpath(path, top)] = os.stat(path).st_size
    return sizes


@pytest.fixture
def server(site):
    target = site.target("--log-level", "debug")  # logs each request
    for directory in range(DIRECTORIES):
        for file in range(FILES):
            content.write(target.root / BUCKET / f"d{directory}" / f"{file:03}", directory, SIZE + file)
    return target


def test_names_cost_no_request_and_bytes_come_from_the_server(site, server):
    path = write_manifest(site, server)
    asked = names_asked(server)
    expected = {f"d{d}/{f:03}": SIZE + f for d in range(DIRECTORIES) for f in range(FILES)}
    mounted = site.mount(server, BUCKET, metadata={"manifest": str(path)})
    assert walk(mounted.point) == expected
    assert not os.path.exists(mounted / "d1" / "missing")
    subprocess.run(["ls", "-lR", mounted.point], check=True, stdout=subprocess.DEVNULL, timeout=COMMAND_SECONDS)
    for directory in range(3):
        wrong = content.difference((mounted / f"d{directory}" / "007").read_bytes(), directory, 0, SIZE + 7)
        assert not wrong, wrong
    assert names_asked(server) == asked
    assert requests(mounted, "list") == requests(mounted, "head") == 0
    assert requests(mounted, "get") > 0
    assert total(mounted.stats(), "manifest_answers_total") > 0

    control = site.mount(server, BUCKET)
    assert walk(control.point) == expected
    assert names_asked(server) > asked + DIRECTORIES


def test_a_parallel_listing_shows_what_a_serial_one_shows(site, server):
    odd = ["a b+c%", "zwölf", "d1/x", "d1-", "d1.", "deep/er/and/deeper/file"]
    for name in odd:
        (server.root / BUCKET / name).parent.mkdir(parents=True, exist_ok=True)
        (server.root / BUCKET / name).write_bytes(b"x")
    file = site.mount_file(server, BUCKET)
    outputs = []
    for jobs in ("1", "16"):
        path = site.folder / f"manifest-{jobs}"
        result = manifest(site, file, "-o", path, "--jobs", jobs)
        assert f"{DIRECTORIES * FILES + len(odd)} objects" in result.stdout
        assert "keys/s" in result.stderr
        outputs.append(path.read_bytes()[16384:])  # the header has the time
    assert outputs[0] == outputs[1]
    assert "nothing is damaged" in manifest(site, "--verify", site.folder / "manifest-16").stdout
    assert "size: 1\n" in manifest(site, "--show", site.folder / "manifest-16", "zwölf").stdout


def test_an_object_that_was_replaced_is_an_error_with_the_remedy_in_the_log(site, server):
    path = write_manifest(site, server)
    log = site.folder / "log"
    mounted = site.mount(server, BUCKET, metadata={"manifest": str(path)}, log={"file": str(log)})
    content.write(server.root / BUCKET / "d1" / "001", 9, 2 * SIZE)
    os.remove(server.root / BUCKET / "d1" / "002")
    for name in ("001", "002"):
        assert (mounted / "d1" / name).stat().st_size == SIZE + int(name), "the manifest's"
        for _ in range(2):
            with pytest.raises(OSError) as failed:
                (mounted / "d1" / name).read_bytes()
            assert failed.value.errno == errno.EIO, "ESTALE would be followed by the same lookup"
    assert "'d1/001' is no longer version" in log.read_text()
    assert f"which manifest {path} lists; run s3rdmafs manifest again and remount" in log.read_text()
    assert requests(mounted, "head") == 0
    assert (mounted / "d1" / "003").read_bytes(), "the control"

    mounted.unmount()
    again = site.mount(server, BUCKET, metadata={"manifest": str(write_manifest(site, server))})
    assert not content.difference((again / "d1" / "001").read_bytes(), 9, 0, 2 * SIZE)
    assert not (again / "d1" / "002").exists()


def test_a_manifest_of_something_else_is_refused_at_mount(site, server):
    path = str(write_manifest(site, server, "d1"))
    for sections, why in (({}, "is of prefix 'd1/', and the mount is of ''"),
                          ({"bucket": {"prefix": "d2/"}}, "is of prefix"),
                          ({"bucket": {"name": "other", "prefix": "d1/"}}, "is of bucket"),
                          ({"endpoint": {"url": "http://127.0.0.1:1"}, "bucket": {"prefix": "d1/"}}, "is of endpoint"),
                          ({"bucket": {"prefix": "d1/"}, "write": {"mode": "sequential"}}, 'needs write.mode = "off"')):
        with pytest.raises(MountFailed) as refused:
            site.mount(server, BUCKET, metadata={"manifest": path}, **sections)
        assert why in refused.value.message
    mounted = site.mount(server, BUCKET, metadata={"manifest": path}, bucket={"prefix": "d1/"})
    assert len(os.listdir(mounted.point)) == FILES, "the control"


def test_a_damaged_manifest_fails_its_own_names_alone(site, server):
    path = write_manifest(site, server)
    with open(path, "r+b") as file:
        file.seek(3 * 16384 + 999)
        file.write(b"\x00\xff")
    mounted = site.mount(server, BUCKET, metadata={"manifest": str(path)})
    failed, found = 0, 0
    for directory in range(DIRECTORIES):
        for number in range(FILES):
            try:
                os.stat(mounted / f"d{directory}" / f"{number:03}")
                found += 1
            except OSError as error:
                assert error.errno == errno.EIO
                failed += 1
    assert failed > 0 and found > failed
    manifest(site, "--verify", path, status=32)
    os.truncate(path, 5 * 16384)
    with pytest.raises(MountFailed) as refused:
        site.mount(server, BUCKET, metadata={"manifest": str(path)})
    assert "run s3rdmafs manifest again" in refused.value.message


def test_a_hundred_thousand_keys_mount_without_the_server(site):
    """No request at all: the server has none of these keys."""
    server = site.target()
    (server.root / BUCKET).mkdir()
    keys = [f"d{number // 1000:03}/{number % 1000:04}" for number in range(100_000)]
    path = write_manifest(site, server, "--from-inventory", inventory(site.folder, keys))
    server.kill()
    mounted = site.mount(server, BUCKET, metadata={"manifest": str(path)})
    assert len(os.listdir(mounted.point)) == 100
    assert len(os.listdir(mounted / "d099")) == 1000
    for number in range(0, 100_000, 997):
        assert (mounted / keys[number]).stat().st_size == number
    assert sum(requests(mounted, operation) for operation in ("list", "head", "get")) == 0


def test_a_million_keys_cost_the_daemon_no_memory(site):
    server = site.target()
    (server.root / BUCKET).mkdir()

    def memory_with(count):
        keys = (f"data/{number // 1000:04}/part-{number % 1000:04}.tar" for number in range(count))
        path = write_manifest(site, server, "--from-inventory", inventory(site.folder, keys))
        mounted = site.mount(server, BUCKET, metadata={"manifest": str(path)})
        assert (mounted / "data" / f"{count // 1000 - 1:04}" / "part-0999.tar").stat().st_size == count - 1
        used = mounted.memory_bytes()
        mounted.unmount()
        return used, path.stat().st_size

    few, _ = memory_with(1000)
    many, manifest_bytes = memory_with(1_000_000)
    assert manifest_bytes > 40 * MIB, "the control"
    assert many - few < 8 * MIB
