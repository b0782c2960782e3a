# SPDX-License-Identifier: Apache-2.0
"""The terms on which a bucket is used: its owner, the requester's bill, encryption and storage classes."""

import base64
import errno
import os

import pytest
from harness import content
from harness.mount import MountFailed
from harness.settings import BEHAVE_AS
from harness.writing import MIB, fails_with

pytestmark = pytest.mark.needs_fuse

BUCKET = "terms"
KEY = base64.b64encode(bytes(range(32))).decode()
OTHER_KEY = base64.b64encode(bytes(range(1, 33))).decode()
OWNER = "111122223333"
STAGED = {"mode": "staged", "staging_size": "64MiB", "buffer_size": "64MiB"}


@pytest.fixture(scope="module")
def server(shared_site):
    return shared_site.target("--requester-pays", "--owner", OWNER, "--play-encryption", bucket=BUCKET)


def mount(site, server, mode, *, bucket=None, **sections):
    """One that writes small files, large ones and parts, renames, and copies."""
    write = {**STAGED, "staging_dir": str(site.folder / f"staging-{mode}-{len(sections)}"), **sections.pop("write", {})}
    return site.mount(server, BUCKET, write=write, metadata={"ttl": "0s", **sections.pop("metadata", {})},
                      bucket={"requester_pays": True, "expected_owner": OWNER, **(bucket or {})}, **sections)


def kept(server, name):
    """The server's note of an object's headers."""
    return os.getxattr(server.root / BUCKET / name, "user.s3rdma-target").decode()


def use(mounted, folder):
    """Everything that writes or reads: PutObject, parts, copied parts, a copy, a rename, and reads of each."""
    (mounted / folder).mkdir()
    small, large = mounted / folder / "small", mounted / folder / "large"
    small.write_bytes(b"small")
    content.write(large, 1, 20 * MIB)
    with open(large, "r+b") as file:  # two parts of three are copied
        file.seek(9 * MIB)
        file.write(b"changed")
    os.rename(small, mounted / folder / "renamed")
    os.rename(mounted / folder, mounted / f"{folder}-moved")
    at = mounted / f"{folder}-moved"
    assert (at / "renamed").read_bytes() == b"small"
    want = bytearray(content.expected(1, 0, 20 * MIB))
    want[9 * MIB:9 * MIB + 7] = b"changed"
    assert (at / "large").read_bytes() == want


@pytest.mark.parametrize("rdma", ["require", "off"])
@pytest.mark.parametrize("mode, keys, header", [
    ("bucket", {}, None),
    ("sse-s3", {}, "x-amz-server-side-encryption AES256"),
    ("sse-kms", {"kms_key": "alias/train"}, "x-amz-server-side-encryption-aws-kms-key-id alias/train"),
    ("sse-c", {"customer_key": KEY}, "x-amz-server-side-encryption-customer-algorithm AES256")],
    ids=["bucket", "sse_s3", "sse_kms", "sse_c"])
def test_whatever_a_mount_stores_is_encrypted_as_its_file_says(site, server, mode, keys, header, rdma):
    folder = f"{mode}-{rdma}"
    use(mount(site, server, folder, encryption={"mode": mode, **keys}, rdma={"mode": rdma}), folder)
    again = mount(site, server, f"{folder}-again", encryption={"mode": mode, **keys}, rdma={"mode": rdma})
    assert len((again / f"{folder}-moved/large").read_bytes()) == 20 * MIB
    for name in ("renamed", "large"):
        note = kept(server, f"{folder}-moved/{name}")
        assert ("server-side-encryption" in note) == (header is not None)
        assert header is None or header in note
        assert KEY not in note


def test_an_object_of_another_customers_key_cannot_be_opened(site, server):
    mount(site, server, "first", encryption={"mode": "sse-c", "customer_key": KEY})
    mine = mount(site, server, "mine", encryption={"mode": "sse-c", "customer_key": KEY})
    (mine / "secret").write_bytes(b"secret")
    theirs = mount(site, server, "theirs", encryption={"mode": "sse-c", "customer_key": OTHER_KEY})
    with fails_with(errno.EACCES):
        (theirs / "secret").read_bytes()
    without = mount(site, server, "without")
    with fails_with(errno.EINVAL):
        (without / "secret").read_bytes()
    assert "secret" in os.listdir(without.point)
    assert (mine / "secret").read_bytes() == b"secret", "the control"


def test_a_bucket_of_another_owner_or_without_consent_is_not_mounted(site, server):
    for wrong in ({"expected_owner": "444455556666"}, {"requester_pays": False}):
        with pytest.raises(MountFailed, match="AccessDenied"):
            mount(site, server, "wrong", bucket=wrong)


def test_requests_are_signed_for_the_region_of_the_mount_file(site):
    elsewhere = site.target("--region", "eu-central-7", bucket=BUCKET)
    content.write(elsewhere.root / BUCKET / "file", 3, MIB)
    with pytest.raises(MountFailed):
        site.mount(elsewhere, BUCKET)
    mounted = site.mount(elsewhere, BUCKET, endpoint={"region": "eu-central-7"})
    assert (mounted / "file").read_bytes() == content.expected(3, 0, MIB)


def test_whatever_is_stored_has_the_storage_class_and_a_change_of_attributes_keeps_it(site, server):
    first = mount(site, server, "class", write={"storage_class": "STANDARD_IA"})
    for name in ("changed", "renamed", "touched"):
        (first / name).write_bytes(b"first")
        assert "x-amz-storage-class STANDARD_IA" in kept(server, name)
    second = mount(site, server, "class-2", write={"storage_class": "ONEZONE_IA"}, metadata={"posix": "write"})
    with open(second / "changed", "ab") as file:
        file.write(b", second")
    os.rename(second / "renamed", second / "new-name")
    os.chmod(second / "touched", 0o600)
    # A rename by the server itself leaves the object as it is.
    stored, stays = ("changed", "new-name"), ("touched",)
    if BEHAVE_AS == "rename-object":
        stored, stays = ("changed",), ("touched", "new-name")
    for name in stored:
        assert "x-amz-storage-class ONEZONE_IA" in kept(server, name)
    for name in stays:
        assert "x-amz-storage-class STANDARD_IA" in kept(server, name)


def test_an_archived_object_is_listed_and_not_read(site, server, tmp_path):
    mounted = mount(site, server, "archive", write={"storage_class": "DEEP_ARCHIVE"})
    (mounted / "archived").write_bytes(b"archived")
    reader = mount(site, server, "archive-2", log={"file": str(tmp_path / "log")})
    assert (reader / "archived").stat().st_size == len(b"archived")
    with fails_with(errno.EACCES):
        (reader / "archived").read_bytes()
    assert "restore it" in (tmp_path / "log").read_text()
