# SPDX-License-Identifier: Apache-2.0
"""Fixtures that several files of this folder use. A file that does has a module fixture `server`, with the bucket BUCKET."""

import pytest
from harness.writing import folder_of, keeping_mount, showing_mount


@pytest.fixture(scope="module")
def keeping(request, shared_site, server):
    """A mount that keeps attributes."""
    return keeping_mount(shared_site, server, request.module.BUCKET)


@pytest.fixture(scope="module")
def showing(request, shared_site, server):
    """Another mount of the bucket, which only reads, and shows what is stored."""
    return showing_mount(shared_site, server, request.module.BUCKET)


@pytest.fixture
def at(keeping, request):
    """A directory of the mount that keeps attributes, for one test."""
    return folder_of(request, keeping)
