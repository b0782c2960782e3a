# SPDX-License-Identifier: Apache-2.0
"""The mount reads from Ceph's gateway what was put there with clients of other authors, over HTTP."""

import filecmp
import os

import pytest
from harness import content, rgw
from harness.mount import GET_BYTES, total
from harness.s3_clients import Awscli, Rclone
from harness.units import MIB

pytestmark = [pytest.mark.needs_fuse, pytest.mark.needs(*rgw.PROGRAMS, Awscli.program, Rclone.program)]

BUCKET = "from-ceph"

FILES = {
    "plain": 100_000,
    "empty": 0,
    "large/of several parts": 70 * MIB + 321,
    "deep/er/and/deeper/file": 5_000,
    "with space, ünïcode, 100%, a+b & c=d": 4_097,
    "-leading dash": 17,
    "what?#": 64,
    "new\nline": 99,
    "x" * 255: 1_000,
} | {f"many/{n:04}": n for n in range(1_100)}  # more than one page of a listing

# Keys that cannot be paths: {key: the directory that does not show it}.
HIDDEN = {
    "odd/a//b": "odd/a",
    "odd/x/../y": "odd/x",
    "odd/./here": "odd",
    "odd/" + "n" * 256: "odd",
    "odd/both": "odd",  # beside odd/both/inside: the directory shows
}
SHOWN_BESIDE = ["odd/both/inside", "odd/a/plain", "odd/x/plain", "odd/marker/"]


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """The files as the source of the comparison has them."""
    folder = tmp_path_factory.mktemp("tree")
    for number, (name, size) in enumerate(FILES.items()):
        content.write(folder / name, number, size)
    return folder


@pytest.fixture(scope="module")
def gateway(tmp_path_factory, tree):
    """Ceph's gateway, filled."""
    server = rgw.Rgw(tmp_path_factory.mktemp("rgw"))
    try:
        homes = tmp_path_factory.mktemp("homes")
        odd = Awscli(server, BUCKET, homes / "aws")
        odd.make_bucket()
        Rclone(server, BUCKET, homes / "rclone").put_tree(tree)
        for key in [*HIDDEN, *SHOWN_BESIDE]:
            odd.put_exactly(key, None if key.endswith("/") else tree / "what?#")
        yield server
    finally:
        server.stop()


def relative_files(folder):
    return {os.path.relpath(os.path.join(parent, name), folder)
            for parent, _, names in os.walk(folder) for name in names}


def test_every_byte_of_every_file_is_what_was_put(site, gateway, tree):
    mounted = site.mount(gateway, BUCKET)
    shown = {name for name in relative_files(mounted.point) if not name.startswith("odd/")}
    assert shown == set(FILES)
    for name in FILES:
        assert filecmp.cmp(mounted / name, tree / name, shallow=False), name

    stats = mounted.stats()
    assert total(stats, GET_BYTES, 'path="http"') >= sum(FILES.values())
    assert total(stats, GET_BYTES, 'path="rdma"') == 0, "the gateway knows no RDMA"


def test_keys_that_cannot_be_paths_are_hidden_and_counted(site, gateway):
    mounted = site.mount(gateway, BUCKET)
    assert total(mounted.stats(), "vfs_hidden_keys_total") == 0, "nothing was listed yet"

    assert sorted(os.listdir(mounted / "odd")) == ["a", "both", "marker", "x"]
    assert os.listdir(mounted / "odd/a") == ["plain"]
    assert os.listdir(mounted / "odd/x") == ["plain"]
    assert os.listdir(mounted / "odd/both") == ["inside"]
    assert os.listdir(mounted / "odd/marker") == []

    assert total(mounted.stats(), "vfs_hidden_keys_total") == len(HIDDEN)


def test_a_prefix_is_mounted_as_if_it_were_the_bucket(site, gateway, tree):
    mounted = site.mount(gateway, BUCKET, bucket={"prefix": "deep/er/"})
    assert relative_files(mounted.point) == {"and/deeper/file"}
    assert filecmp.cmp(mounted / "and/deeper/file", tree / "deep/er/and/deeper/file", shallow=False)
