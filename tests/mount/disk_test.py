# SPDX-License-Identifier: Apache-2.0
"""A cache on a local disk: bytes that were read once are there for the next mount, right, or are not served."""

import os
import shutil
import stat

import pytest
from harness import content
from harness.mount import MountFailed, total
from harness.processes import eventually, is_alive, unmount_lazily
from harness.units import MIB

pytestmark = pytest.mark.needs_fuse

BUCKET = "disk"
# Read by pieces, fetched whole when it is opened, and in one request; none a whole number of units.
SIZES = {1: 80 * MIB + 4097, 2: 9 * MIB + 1, 3: 5000}


class Place:
    """A server with three files, and mounts of it that have one folder on the disk."""

    def __init__(self, site):
        self.site, self.target, self.folder = site, site.target(), site.folder / "disk"
        for number, size in SIZES.items():
            content.write(self.path(number), number, size)

    def path(self, number):
        return self.target.root / BUCKET / f"file{number}"

    def mount(self, **disk):
        return self.site.mount(self.target, BUCKET, metadata={"ttl": "0s"},
                               disk={"path": str(self.folder), "size": "256MiB", "reserve": "0", **disk})

    def read_all(self, mounted):
        """Reads all files; returns how many bytes of objects the server sent for it."""
        before = total(mounted.stats(), "get_bytes_total")
        for number, size in SIZES.items():
            with open(mounted / f"file{number}", "rb") as file:
                assert not content.difference(file.read(), number, 0, size)
        return total(mounted.stats(), "get_bytes_total") - before

    def warm(self):
        """Mounts and reads until all of it is on the disk: a disk that lags behind is given no more to write."""
        def one_pass():
            mounted = self.mount()
            sent = self.read_all(mounted)
            mounted.unmount()
            return sent

        assert one_pass() >= sum(SIZES.values()), "the control: nothing was there before"
        eventually(lambda: one_pass() == 0, 60, "all of it is on the disk")

    def files(self, suffix):
        return sorted(self.folder.glob(f"*{suffix}"))


@pytest.fixture
def place(site):
    return Place(site)


def flip_bytes(path, step):
    """One byte in each `step`, so that every unit of that size is damaged."""
    with open(path, "r+b") as file:
        for position in range(100, os.path.getsize(path), step):
            file.seek(position)
            byte = file.read(1)[0]
            file.seek(position)
            file.write(bytes([byte ^ 0x20]))


def test_the_next_mount_of_the_folder_asks_the_server_for_no_bytes(place):
    place.warm()
    mounted = place.mount()
    assert place.read_all(mounted) == 0
    assert total(mounted.stats(), "disk_read_bytes_total") >= sum(SIZES.values())


def test_an_overwritten_object_is_never_served_old(place):
    place.warm()
    content.write(place.path(1), 7, SIZES[1])
    mounted = place.mount()
    with open(mounted / "file1", "rb") as file:
        assert not content.difference(file.read(), 7, 0, SIZES[1])


def test_damaged_bytes_on_the_disk_are_fetched_again(place):
    place.warm()
    for path in place.files(".data"):
        flip_bytes(path, 4 << 10)
    mounted = place.mount()
    assert place.read_all(mounted) >= sum(SIZES.values())
    assert total(mounted.stats(), "disk_corrupt_total") > 0


def test_bytes_read_before_a_kill_are_right_after_it_and_mostly_there(place):
    mounted = place.mount()
    place.read_all(mounted)
    mounted_pid = mounted.pid
    os.kill(mounted_pid, 9)
    eventually(lambda: not is_alive(mounted_pid), 20, "the daemon is gone")
    unmount_lazily(str(mounted.point))

    again = place.mount()
    # Only bytes that were copied but not yet written may be missing: the write buffer.
    assert place.read_all(again) <= 64 * MIB
    assert total(again.stats(), "disk_corrupt_total") == 0


def test_two_mounts_of_one_folder_are_refused_with_what_to_do(place):
    first = place.mount()
    with pytest.raises(MountFailed) as refused:
        place.mount()
    assert "in use by another mount" in refused.value.message
    assert str(first.pid) in refused.value.message
    first.unmount()
    place.mount()  # the control


def test_the_folder_never_takes_more_than_its_size(place):
    mounted = place.mount(size="64MiB")
    place.read_all(mounted)
    eventually(lambda: total(mounted.stats(), "disk_evictions_total") > 0, 30, "segments are evicted")
    taken = sum(path.stat().st_blocks * 512 for path in place.folder.iterdir())
    assert taken <= 64 * MIB


def test_only_the_owner_can_read_the_folder(place):
    place.warm()
    assert stat.S_IMODE(place.folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in place.folder.iterdir()} == {0o600}
    place.folder.chmod(0o755)
    with pytest.raises(MountFailed) as refused:
        place.mount()
    assert "chmod 700" in refused.value.message


def test_the_mount_goes_on_when_the_folder_is_removed_under_it(place):
    mounted = place.mount()
    shutil.rmtree(place.folder)
    place.read_all(mounted)
    eventually(lambda: total(mounted.stats(), "disk_up") == 0, 30, "the disk cache is off, visibly")
    place.read_all(mounted)
