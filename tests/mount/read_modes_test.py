# SPDX-License-Identifier: Apache-2.0
"""Through the kernel's page cache, past it, or without the daemon: whatever an open is answered, every byte read
is the object's, and each open is answered as it should be."""

import mmap
import os
import random
import subprocess
import sys
import threading

import pytest
from harness import content
from harness.kernel import pages_locked
from harness.mount import can_pass_through, total
from harness.processes import eventually

pytestmark = pytest.mark.needs_fuse

KIB, MIB = 1 << 10, 1 << 20
BUCKET = "modes"
SIZE = 12 * MIB + 4321  # large enough to be direct, with an end inside a page
PIECES = {"passthrough_max": "0"}  # nothing is passed through
OPENS = "fuse_opens_total"
STEP = 512 * KIB  # of the test with a model: as many bytes by one large read or by many small ones


def fill(target, *names):
    for number, name in enumerate(names):
        content.write(target.root / BUCKET / name, number, SIZE)
    return target


def opens(mounted):
    stats = mounted.stats()
    return {mode: total(stats, OPENS, f'mode="{mode}"') for mode in ("direct", "cached", "passthrough")}


def check(got, offset, length, number=0):
    wrong = content.difference(got, number, offset, min(length, SIZE - offset))
    assert not wrong, wrong


def read_large(file):
    for offset in range(0, SIZE, MIB):
        check(os.pread(file, MIB, offset), offset, MIB)


def read_small(file):
    for offset in random.Random(1).sample(range(0, SIZE - 4 * KIB, 4 * KIB), 128):
        check(os.pread(file, 4 * KIB, offset), offset, 4 * KIB)


def read_mapped(file):
    with mmap.mmap(file, 0, prot=mmap.PROT_READ) as memory:
        check(memory[:], 0, SIZE)


def read_pages(file, length, offset):
    """Into memory of whole pages, so that it is one request."""
    with mmap.mmap(-1, length) as memory:
        assert os.preadv(file, [memory], offset) == length
        check(memory[:], offset, length)


def open_and(read, path):
    file = os.open(path, os.O_RDONLY)
    try:
        read(file)
    finally:
        os.close(file)


def how_opened(mounted, path, read=lambda file: None):
    """The mode of one more open of it."""
    before = opens(mounted)
    open_and(read, path)
    (mode,) = [mode for mode, count in opens(mounted).items() if count > before[mode]]
    return mode


@pytest.mark.parametrize("read, then", [(read_large, "direct"), (read_small, "cached"), (read_mapped, "cached")],
                         ids=["large", "small", "mapped"])
def test_a_large_file_is_opened_as_it_was_read_last(site, read, then):
    mounted = site.mount(fill(site.target(), "a", "b"), BUCKET, cache=PIECES)
    assert how_opened(mounted, mounted / "a", read) == "direct"
    assert how_opened(mounted, mounted / "a", read) == then
    assert how_opened(mounted, mounted / "b") == "direct", "another file is another matter"


@pytest.mark.needs_root
@pytest.mark.parametrize("read", [read_large, read_small, read_mapped])
def test_a_second_pass_through_the_page_cache_does_not_ask_the_daemon(site, read):
    mounted = site.mount(fill(site.target(), "a"), BUCKET, cache=PIECES, read={"mode": "buffered"})

    def asked():
        return total(mounted.stats(), "fuse_read_bytes_total")

    with pages_locked(mounted / "a"):  # the first pass, by page faults
        eventually(lambda: asked() >= SIZE, 20, "the daemon has counted all it gave")
        before = asked()
        assert how_opened(mounted, mounted / "a", read) == "cached"
        assert asked() == before


def test_a_second_pass_past_the_page_cache_asks_again(site):
    """The control of the test above."""
    mounted = site.mount(fill(site.target(), "a"), BUCKET, cache=PIECES, read={"mode": "direct"})
    for _ in range(2):
        assert how_opened(mounted, mounted / "a", read_small) == "direct"
    assert total(mounted.stats(), "fuse_read_bytes_total") == 2 * 128 * 4 * KIB


def test_patterns_of_the_mount_file_name_files_for_either(site):
    target = fill(site.target(), "a.map", "deep/b.map", "c.bulk", "deep/d.bulk")
    mounted = site.mount(target, BUCKET, cache=PIECES,
                         read={"mode": "buffered", "buffered": "*.map", "direct": "*.bulk"})
    assert how_opened(mounted, mounted / "a.map") == "cached"
    assert how_opened(mounted, mounted / "deep/b.map") == "cached"
    assert how_opened(mounted, mounted / "c.bulk") == "direct"
    assert how_opened(mounted, mounted / "deep/d.bulk") == "direct"


def test_safetensors_are_opened_for_those_who_map_them(site):
    target = fill(site.target(), "model.safetensors", "model.bin")
    mounted = site.mount(target, BUCKET, cache=PIECES)
    assert how_opened(mounted, mounted / "model.safetensors") == "cached"
    assert how_opened(mounted, mounted / "model.bin") == "direct"


def test_an_overwritten_object_has_no_habits_and_nothing_of_the_old_page_cache(site):
    target = fill(site.target(), "a")
    mounted = site.mount(target, BUCKET, cache=PIECES, metadata={"ttl": "0s"})
    open_and(read_mapped, mounted / "a")
    assert how_opened(mounted, mounted / "a", read_mapped) == "cached"
    content.write(target.root / BUCKET / "a", 7, SIZE)
    before = opens(mounted)["direct"]
    with open(mounted / "a", "rb") as file:
        check(file.read(), 0, SIZE, number=7)
    assert opens(mounted)["direct"] == before + 1


READER = """
import mmap, os, random, sys
sys.path.insert(0, sys.argv[1])
from harness import content
path, way, size, seed = sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
file = os.open(path, os.O_RDONLY)
if way == "mapped":
    memory = mmap.mmap(file, 0, flags=mmap.MAP_SHARED, prot=mmap.PROT_READ)
draw = random.Random(seed)
for _ in range(150):
    offset = draw.randrange(size)
    length = draw.choice([1, 511, 4096, 70_001, 1 << 20])
    if way == "mapped":
        got = memory[offset:offset + length]
    else:
        got = os.pread(file, length, offset)
    wrong = content.difference(got, 0, offset, min(length, size - offset))
    if wrong:
        sys.exit(way + ": " + wrong)
"""


@pytest.mark.parametrize("mode", ["direct", "auto", "buffered"])
def test_mappings_beside_other_readers_of_one_file_see_the_same_bytes(site, mode):
    """The cache of 64 MiB holds less than is read, so that blocks go while others are read."""
    mounted = site.mount(fill(site.target(), "a", "b", "c"), BUCKET, cache=PIECES | {"size": "64MiB"},
                         read={"mode": mode})
    harness = os.path.dirname(os.path.dirname(content.__file__))
    # One handle stays open, so that all have its mode.
    file = os.open(mounted / "a", os.O_RDONLY)
    try:
        readers = [subprocess.Popen([sys.executable, "-B", "-c", READER, harness, mounted / "a", way, str(SIZE),
                                     str(seed)], stderr=subprocess.PIPE, text=True)
                   for seed, way in enumerate(["mapped", "read"] * 3)]
        others = threading.Thread(target=lambda: [(mounted / name).read_bytes() for name in "bcbc"])
        others.start()
        ends = [reader.communicate(timeout=120)[1] for reader in readers]
        others.join(120)
    finally:
        os.close(file)
    assert not any(reader.returncode for reader in readers), ends
    counted = opens(mounted)
    expected = "cached" if mode == "buffered" else "direct"
    assert counted[expected] == 1 + 6 + 4, counted


class Model:
    """Computes the mode that an open of one version must have."""

    TRUSTED = 16  # kOpeningsTrusted of src/fuse/access_history.h

    def __init__(self, passes_through):
        self.passes_through = passes_through  # is this object small enough?
        self.mode, self.handles = None, 0
        self.known, self.large, self.small, self.left = False, 0, 0, 0

    def open(self):
        self.handles += 1
        if self.handles == 1:
            self.mode = "passthrough" if self.passes_through else self._without_passthrough()
        return self.mode

    def _without_passthrough(self):
        if self.left:
            self.left -= 1
            if self.left:
                return "cached"
            self.large = self.small = 0
            return "direct"
        is_small = self.small >= 256 * KIB and self.small > self.large
        if is_small:
            self.left = self.TRUSTED
        self.large, self.small = self.large // 2, self.small // 2
        return "cached" if is_small else "direct"

    def read(self, kind):
        if self.mode == "direct":
            if kind == "large":
                self.large += STEP
            elif kind == "small":
                self.small += STEP

    def close(self):
        self.handles -= 1


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("passes", [False, True], ids=["by pieces", "whole"])
def test_opens_in_any_order_are_answered_as_the_model_says(site, passes, seed):
    if passes and (why := can_pass_through()):
        pytest.skip(why)
    mounted = site.mount(fill(site.target(), "a"), BUCKET, cache={"passthrough_max": "64MiB" if passes else "0"})
    model, draw, handles = Model(passes), random.Random(seed), []
    counted = dict.fromkeys(("direct", "cached", "passthrough"), 0)
    for _ in range(150):
        step = draw.choice(["open", "close", "close", "large", "small"])
        if step == "open" and len(handles) < 4:
            handles.append(os.open(mounted / "a", os.O_RDONLY))
            counted[model.open()] += 1
            assert opens(mounted) == counted
        elif step == "close" and handles:
            os.close(handles.pop(draw.randrange(len(handles))))
            model.close()
        elif step == "large" and handles:
            read_pages(draw.choice(handles), STEP, draw.randrange(SIZE // STEP - 1) * STEP)
            model.read("large")
        elif step == "small" and handles:
            for _ in range(STEP // (4 * KIB)):
                read_pages(draw.choice(handles), 4 * KIB, draw.randrange(SIZE // (4 * KIB) - 1) * 4 * KIB)
            model.read("small")
    for file in handles:
        os.close(file)
    assert passes or counted["direct"] and counted["cached"], f"the control: both were seen: {counted}"
