# SPDX-License-Identifier: Apache-2.0
"""s3rdma-target and the client that shares no code with it, on two hosts: every byte, whatever the wire does."""

import pytest
from harness import content
from peer.agent import BUCKET
from peer.rc_client import GET_ACCESS, PUT_ACCESS, Device, Session
from two_hosts.files import SIZES


@pytest.fixture(scope="module")
def device():
    return Device("rxe0", "10.9.0.1")


def test_get_and_put_over_the_wire(device, host2, wire):
    number, name = 2, "large2"
    size = SIZES[name]
    session = Session(device, host2)
    memory = device.memory(size, GET_ACCESS)
    answer = session.get(f"/{BUCKET}/{name}", session.token(memory))
    assert (answer.status, answer.headers["x-amz-rdma-bytes-transferred"]) == (200, str(size)), answer.body
    landed = memory.read(size, 0)
    assert not content.difference(landed, number, 0, size)

    source = device.memory(size, PUT_ACCESS)
    source.write(landed, size)
    assert session.put("/stored/copy", session.token(source)).status == 200
    host2.call("compare", "stored/copy", number, size)
    session.disconnect()
    session.close()
