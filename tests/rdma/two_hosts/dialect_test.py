# SPDX-License-Identifier: Apache-2.0
"""s3rdma-target and the client that shares no code with it, on two hosts: every byte, whatever the wire does."""

import subprocess
import threading
import time

import pytest
from harness import content
from harness.processes import eventually
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


def test_a_transfer_that_the_link_cuts_ends_right_or_with_an_error(device, host2):
    number, name = 3, "large3"
    size = SIZES[name]
    session = Session(device, host2)
    memory = device.memory(size, GET_ACCESS)
    answers = []
    thread = threading.Thread(
        target=lambda: answers.append(session.get(f"/{BUCKET}/{name}", session.token(memory))))
    thread.start()
    # The first bytes have landed: the transfer is under way.
    eventually(lambda: memory.read(512, 0) == content.expected(number, 0, 512), 30, "the transfer begins")
    subprocess.run(["ip", "link", "set", "rail", "down"], check=True, timeout=20)
    time.sleep(10)  # what the test is about; the server's retries last a few seconds
    subprocess.run(["ip", "link", "set", "rail", "up"], check=True, timeout=20)
    thread.join(90)
    assert answers and answers[0].status in (200, 500)
    if answers[0].status == 200:
        assert not content.difference(memory.read(size, 0), number, 0, size)
    session.close()

    again = Session(device, host2)
    assert again.get(f"/{BUCKET}/{name}", again.token(memory)).status == 200
    assert not content.difference(memory.read(size, 0), number, 0, size)
    again.disconnect()
    again.close()
