# SPDX-License-Identifier: Apache-2.0
"""S3 clients of other authors work with s3rdma-target, as Debian ships them."""

import filecmp

import pytest
from harness import content
from harness.mount import can_mount
from harness.s3_clients import Awscli, Client, Rclone, S3cmd, S3fs
from harness.units import MIB

# Above every client's threshold for multipart, and not a whole number of parts.
LARGE_BYTES = 110 * MIB + 12345

CLIENTS = [pytest.param(kind, id=kind.__name__.lower(), marks=pytest.mark.needs(kind.program, Awscli.program))
           for kind in (Awscli, S3cmd, Rclone, S3fs)]


@pytest.fixture(params=CLIENTS)
def client(request, site):
    """A client, its bucket made by it."""
    kind: type[Client] = request.param
    if kind is S3fs and (why := can_mount()):
        pytest.skip(why)
    made = kind(site.target(), "bucket-of-tests", site.folder / "home")
    try:
        made.make_bucket()
        yield made
    finally:
        made.close()


@pytest.fixture
def small(tmp_path):
    return content.write(tmp_path / "small", 1, 30_000)


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    return content.write(tmp_path_factory.mktemp("large") / "large", 2, LARGE_BYTES)


def on_disk(client, key=""):
    return client.server.root / client.bucket / key


def test_the_bucket_made_is_a_folder_of_the_target(client):
    assert on_disk(client).is_dir()


@pytest.mark.parametrize("key", ["plain", "deep/er/and deeper", "ünïcode & 100% + plus"])
def test_a_small_object_comes_back_as_it_was_put(client, small, tmp_path, key):
    client.put(small, key)
    assert filecmp.cmp(on_disk(client, key), small, shallow=False), "it is a file of the target's folder"
    client.get(key, tmp_path / "back")
    assert filecmp.cmp(tmp_path / "back", small, shallow=False)


def test_an_object_above_100_MiB_goes_up_in_parts_and_comes_back(client, large, tmp_path):
    client.put(large, "large")
    assert filecmp.cmp(on_disk(client, "large"), large, shallow=False)
    client.get("large", tmp_path / "back")
    assert filecmp.cmp(tmp_path / "back", large, shallow=False)

    asker = Awscli(client.server, client.bucket, tmp_path / "asker")
    assert "-" in asker.etag("large"), "the ETag of a multipart upload says how many parts it had"


def test_a_listing_shows_every_key(client, small):
    keys = {"top", "a/one", "a/two", "a b/three"} | {f"many/{n:02}" for n in range(6)}
    for key in keys:
        client.put(small, key)
    assert client.list() == keys


def test_a_range_has_the_bytes_of_that_range(client, large):
    client.put(large, "large")
    first, last = 70 * MIB - 3, 70 * MIB + 4096
    assert client.get_range("large", first, last) == content.expected(2, first, last - first + 1)


def test_a_copy_has_the_bytes_of_its_source(client, small, large):
    for source, key in ((small, "small"), (large, "large")):
        client.put(source, key)
        client.copy(key, f"{key} copy")
        assert filecmp.cmp(on_disk(client, f"{key} copy"), source, shallow=False)


def test_a_deleted_object_is_gone(client, small):
    client.put(small, "kept")
    client.put(small, "dropped")
    client.delete("dropped")
    assert client.list() == {"kept"}
    assert not on_disk(client, "dropped").exists()


@pytest.mark.needs(Awscli.program)
def test_a_client_with_a_wrong_secret_is_refused(site, small):
    server = site.target()
    server_with_other_key = type("Server", (), {
        "endpoint": server.endpoint, "access_key": server.access_key, "secret_key": "wrong"})
    Awscli(server, "bucket-of-tests", site.folder / "right").make_bucket()
    intruder = Awscli(server_with_other_key, "bucket-of-tests", site.folder / "wrong")
    with pytest.raises(AssertionError, match="SignatureDoesNotMatch"):
        intruder.put(small, "key")
