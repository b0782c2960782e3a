# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of the CSI driver."""

import pytest
from harness import content
from harness.csi import SIZE, Node, stubs
from harness.key_service import SECRET


@pytest.fixture(scope="session")
def csi_modules(tmp_path_factory):
    return stubs(tmp_path_factory.mktemp("stubs"))


@pytest.fixture(scope="module")
def csi_server(shared_site):
    """Buckets "first" and "second" with a file "data" each, of content 0 and 1; and one to be written."""
    made = shared_site.target("--key", "OTHERKEY:othersecret0123456789", "--temporary-keys", SECRET)
    for seed, bucket in enumerate(("first", "second")):
        (made.root / bucket).mkdir()
        content.write(made.root / bucket / "data", seed, SIZE)
    (made.root / "written").mkdir()
    return made


@pytest.fixture
def node(tmp_path, csi_modules, s3rdmafs):
    made = Node(tmp_path, *csi_modules, s3rdmafs)
    yield made
    made.destroy()
