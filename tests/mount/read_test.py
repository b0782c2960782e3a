# SPDX-License-Identifier: Apache-2.0
"""Programs that know nothing of S3 read a mounted bucket in every way Linux has, over RDMA and over HTTP."""

import errno
import hashlib
import mmap
import os
import socket
import stat
import subprocess
import threading

import pytest
from harness import content
from harness.kernel import mount_with
from harness.mount import GET_BYTES, assert_nothing_held, total
from harness.units import MIB

pytestmark = pytest.mark.needs_fuse

BLOCK = 8 * MIB  # the cache's block, whose borders are worth a test
BUCKET = "data"

SIZES = {
    "empty": 0,
    "one byte": 1,
    "small": 10_000,
    "page": 4096,
    "block less one": BLOCK - 1,
    "block": BLOCK,
    "block and one": BLOCK + 1,
    "large": 40 * MIB + 4321,
    "deep/" * 40 + "file": 5_000,
    "names/with space, ünïcode, 100%, a+b & c=d": 111,
    "names/-leading dash": 112,
    "names/new\nline": 113,
    "names/quote'\"\\ #?;": 114,
    "names/%2F%00": 115,
    "names/" + "x" * 255: 116,
} | {f"many/{n:05}": n % 64 for n in range(3_000)}
NUMBER = {name: number for number, name in enumerate(SIZES)}


@pytest.fixture(scope="module")
def server(shared_site):
    """A target whose bucket was there as files before it started."""
    target = shared_site.target()
    for name, size in SIZES.items():
        content.write(target.root / BUCKET / name, NUMBER[name], size)
    return target


@pytest.fixture(scope="module", params=[("rdma", "dev"), ("http", "dev"), ("rdma", "uring")], ids="-".join)
def mounted(request, shared_site, server):
    path, transport = request.param
    mode = {"rdma": "require", "http": "off"}[path]
    made = mount_with(transport, lambda: shared_site.mount(server, BUCKET, rdma={"mode": mode},
                                                           mount={"transport": transport}))
    made.path = path
    return made


def check(got, name, offset, length):
    wrong = content.difference(got, NUMBER[name], offset, max(0, min(length, SIZES[name] - offset)))
    assert not wrong, wrong


@pytest.mark.parametrize("name", [name for name in SIZES if not name.startswith("many/")], ids=ascii)
def test_a_file_read_whole_has_every_byte(mounted, name):
    with open(mounted / name, "rb") as file:
        check(file.read(), name, 0, SIZES[name])


def test_sha256sum_says_the_same_of_mount_and_source(mounted, server):
    def digests(folder):
        command = f"cd '{folder}' && find . -type f -print0 | sort -z | xargs -0 sha256sum --zero"
        return subprocess.run(command, shell=True, check=True, timeout=120, stdout=subprocess.PIPE).stdout
    assert digests(mounted.point) == digests(server.root / BUCKET)


def test_the_bytes_come_by_the_path_asked_for(mounted):
    with open(mounted / "large", "rb") as file:
        file.read()
    stats = mounted.stats()
    other = {"rdma": "http", "http": "rdma"}[mounted.path]
    assert total(stats, GET_BYTES, f'path="{mounted.path}"') >= SIZES["large"]
    assert total(stats, GET_BYTES, f'path="{other}"') == 0


@pytest.mark.parametrize("offset", [0, 1, 4095, 4096, BLOCK - 1, BLOCK, 3 * BLOCK - 7, 40 * MIB + 4320])
@pytest.mark.parametrize("length", [1, 4096, 70_001, 5 * MIB])
def test_a_read_at_any_offset_has_the_bytes_of_that_offset(mounted, offset, length):
    file = os.open(mounted / "large", os.O_RDONLY)
    try:
        got = b""
        while len(got) < length and (piece := os.pread(file, length - len(got), offset + len(got))):
            got += piece
    finally:
        os.close(file)
    check(got, "large", offset, length)


def test_reads_backwards_have_the_right_bytes(mounted):
    with open(mounted / "large", "rb", buffering=0) as file:
        for offset in range(40 * MIB, 0, -3 * MIB - 11):
            file.seek(offset)
            got = file.read(8192)
            check(got, "large", offset, 8192)


def test_seek_to_the_end_tells_the_size(mounted):
    with open(mounted / "large", "rb") as file:
        assert file.seek(0, os.SEEK_END) == SIZES["large"]


def test_a_read_at_and_past_the_end_gives_nothing(mounted):
    file = os.open(mounted / "large", os.O_RDONLY)
    try:
        for offset in (SIZES["large"], SIZES["large"] + 1, 1 << 40):
            assert os.pread(file, 4096, offset) == b""
        check(os.pread(file, 4096, SIZES["large"] - 10), "large", SIZES["large"] - 10, 4096)
    finally:
        os.close(file)


@pytest.mark.parametrize("flags", [mmap.MAP_PRIVATE, mmap.MAP_SHARED], ids=["private", "shared"])
def test_mapped_memory_has_the_files_bytes(mounted, flags):
    with open(mounted / "large", "rb") as file:
        with mmap.mmap(file.fileno(), 0, flags=flags, prot=mmap.PROT_READ) as memory:
            for offset in (0, 4097, BLOCK - 3, 39 * MIB + 5):
                check(memory[offset:offset + 10_000], "large", offset, 10_000)
            check(memory[-50:], "large", SIZES["large"] - 50, 50)


def test_sendfile_sends_the_files_bytes(mounted):
    near, far = socket.socketpair()
    digest = hashlib.sha256()

    def drain():
        while piece := far.recv(MIB):
            digest.update(piece)

    reader = threading.Thread(target=drain)
    reader.start()
    try:
        with open(mounted / "large", "rb") as file:
            offset = 0
            while sent := os.sendfile(near.fileno(), file.fileno(), offset, 4 * MIB):
                offset += sent
    finally:
        near.close()
        reader.join(60)
        far.close()
    assert offset == SIZES["large"]
    assert digest.digest() == hashlib.sha256(content.expected(NUMBER["large"], 0, SIZES["large"])).digest()


def test_splice_to_a_pipe_moves_the_files_bytes(mounted):
    read_end, write_end = os.pipe()
    file = os.open(mounted / "large", os.O_RDONLY)
    try:
        moved = os.splice(file, write_end, 16_384, offset_src=BLOCK - 5)
        check(os.read(read_end, moved), "large", BLOCK - 5, moved)
    finally:
        for descriptor in (file, read_end, write_end):
            os.close(descriptor)


def test_direct_io_has_the_files_bytes(mounted):
    file = os.open(mounted / "large", os.O_RDONLY | os.O_DIRECT)
    try:
        with mmap.mmap(-1, 2 * MIB) as aligned:
            for offset in (0, 4096, BLOCK - 4096, 40 * MIB):
                count = os.preadv(file, [aligned], offset)
                check(aligned[:count], "large", offset, 2 * MIB)
    finally:
        os.close(file)


def test_many_threads_read_one_handle(mounted):
    wrong = []
    file = os.open(mounted / "large", os.O_RDONLY)

    def read(start):
        for offset in range(start, SIZES["large"] - 4096, 5 * MIB):
            wrong.append(content.difference(os.pread(file, 4096, offset), NUMBER["large"], offset, 4096))

    threads = [threading.Thread(target=read, args=(n * 300_007,)) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    os.close(file)
    assert wrong and not any(wrong), [w for w in wrong if w]


def test_a_directory_lists_thousands_of_names_once_each(mounted):
    names = os.listdir(mounted / "many")
    assert sorted(names) == [f"{n:05}" for n in range(3_000)]


def test_names_that_need_care_are_listed_as_they_are(mounted):
    wanted = {name.removeprefix("names/") for name in SIZES if name.startswith("names/")}
    assert set(os.listdir(mounted / "names")) == wanted


def test_a_rewound_directory_lists_the_same_again(mounted):
    with os.scandir(mounted / "many") as entries:
        first = [entry.name for entry in entries]
    with os.scandir(mounted / "many") as entries:
        assert [entry.name for entry in entries] == first


def test_the_type_in_a_listing_is_that_of_stat(mounted):
    with os.scandir(mounted.point) as entries:
        for entry in entries:
            assert entry.is_dir(follow_symlinks=False) == stat.S_ISDIR(os.stat(entry.path).st_mode), entry.name


def test_a_deep_tree_is_walked_to_its_end(mounted):
    found = [os.path.join(folder, name) for folder, _, names in os.walk(mounted / "deep") for name in names]
    assert found == [str(mounted / ("deep/" * 40 + "file"))]


def test_stat_tells_size_time_owner_and_kind(mounted, server):
    for name in ("large", "empty", "small"):
        seen, source = os.stat(mounted / name), os.stat(server.root / BUCKET / name)
        assert seen.st_size == source.st_size
        assert abs(seen.st_mtime - source.st_mtime) < 2, "S3's times have whole seconds"
        assert stat.S_ISREG(seen.st_mode)
        assert seen.st_uid == os.geteuid() and seen.st_gid == os.getegid()
        assert seen.st_blocks * 512 >= seen.st_size, "du must not think it sparse"
        assert seen.st_blksize == 256 << 10, "buffers of stdio and cp are as large"
    assert stat.S_ISDIR(os.stat(mounted / "names").st_mode)


def test_one_file_has_one_inode_number(mounted):
    numbers = [os.stat(mounted / name).st_ino for name in ("large", "small", "empty", "names", "many")]
    assert len(set(numbers)) == len(numbers)
    assert numbers == [os.stat(mounted / name).st_ino for name in ("large", "small", "empty", "names", "many")]


def test_owner_and_permissions_are_the_mount_files(site, server):
    mode = site.mount(server, BUCKET, mount={
        "uid": 1234, "gid": 2345, "file_mode": "0440", "directory_mode": "0550"})
    file, folder = os.stat(mode / "small"), os.stat(mode / "names")
    assert (file.st_uid, file.st_gid, stat.S_IMODE(file.st_mode)) == (1234, 2345, 0o440)
    assert (folder.st_uid, folder.st_gid, stat.S_IMODE(folder.st_mode)) == (1234, 2345, 0o550)


def test_a_missing_name_is_not_there(mounted):
    for name in ("gone", "names/gone", "large/below a file"):
        with pytest.raises((FileNotFoundError, NotADirectoryError)):
            os.stat(mounted / name)


def test_a_name_too_long_is_refused_as_such(mounted):
    with pytest.raises(OSError) as refused:
        os.stat(mounted / ("n" * 256))
    assert refused.value.errno == errno.ENAMETOOLONG


def test_df_and_statfs_answer(mounted):
    figures = os.statvfs(mounted.point)
    assert figures.f_namemax == 255
    assert figures.f_flag & os.ST_RDONLY
    subprocess.run(["df", mounted.point], check=True, timeout=20, stdout=subprocess.DEVNULL)


def test_access_allows_reading_and_refuses_writing(mounted):
    assert os.access(mounted / "small", os.R_OK)
    assert not os.access(mounted / "small", os.W_OK)
    assert os.access(mounted / "names", os.R_OK | os.X_OK)


WRITES = {
    "open for writing": lambda at: os.open(at / "small", os.O_WRONLY),
    "open for both": lambda at: os.open(at / "small", os.O_RDWR),
    "create": lambda at: os.open(at / "new", os.O_WRONLY | os.O_CREAT),
    "truncate": lambda at: os.truncate(at / "small", 0),
    "unlink": lambda at: os.unlink(at / "small"),
    "rename": lambda at: os.rename(at / "small", at / "other"),
    "link": lambda at: os.link(at / "small", at / "other"),
    "symlink": lambda at: os.symlink("small", at / "other"),
    "mkdir": lambda at: os.mkdir(at / "new"),
    "rmdir": lambda at: os.rmdir(at / "names"),
    "chmod": lambda at: os.chmod(at / "small", 0o777),
    "utime": lambda at: os.utime(at / "small", (1, 1)),
}


@pytest.mark.parametrize("write", WRITES)
def test_a_write_is_refused_as_on_a_read_only_file_system(mounted, server, write):
    with pytest.raises(OSError) as refused:
        WRITES[write](mounted.point)
    assert refused.value.errno == errno.EROFS
    assert (server.root / BUCKET / "small").stat().st_size == SIZES["small"], "the object is as it was"


def test_the_caches_accounting_is_back_to_zero_after_all_reads(mounted):
    with open(mounted / "large", "rb") as file:
        file.read()
    assert_nothing_held(mounted)
