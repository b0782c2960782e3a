# SPDX-License-Identifier: Apache-2.0
"""s3rdma-target speaks the rc dialect over real verbs, to a client that shares no code with it; and where
the dialect's first server loses data, it does not."""

import re
import threading
import time

import pytest
from harness import content
from harness.units import MIB
from peer import signed_http
from peer.rc_client import CONNECT, DISCONNECT, GET_ACCESS, PUT_ACCESS, Device, Session, endpoint_text

BUCKET = "dialect"
# A little more than three staging buffers, and an odd length.
LARGE = 13 * MIB + 77
HUGE = 192 * MIB
CANARY = b"\xa5"


@pytest.fixture(scope="module")
def server(shared_site):
    started = shared_site.target("--rc", "rxe0")
    content.write(started.root / BUCKET / "large", 1, LARGE)
    content.write(started.root / BUCKET / "huge", 2, HUGE)
    (started.root / BUCKET / "empty").touch()
    return started


@pytest.fixture(scope="module")
def device(server):
    return Device("rxe0", server.address)


@pytest.fixture
def session(device, server):
    connected = Session(device, server)
    yield connected
    connected.disconnect()
    connected.close()


def landing(device, size):
    """Memory a GET may write, full of canaries."""
    memory = device.memory(size, GET_ACCESS)
    memory.write(CANARY * size, size)
    return memory


def assert_done(answer, status, size):
    assert (answer.status, answer.body) == (status, b""), answer.code()
    assert answer.headers["x-amz-rdma-reply"] == str(status)
    assert answer.headers["x-amz-rdma-bytes-transferred"] == str(size)


def test_connect_is_answered_as_the_dialect_says(session):
    headers = session.answer.headers
    assert re.fullmatch("[0-9a-f]{32}", headers["x-amz-rdma-session"])
    assert re.fullmatch("200:01[0-9a-f]{86}", headers["x-amz-rdma-reply"])
    assert re.fullmatch("[0-9a-f]{6}", headers["x-amz-rdma-psn"])
    assert 1 <= int(headers["x-amz-rdma-psn"], 16) <= 0xFFFFFE
    assert session.answer.body == b""


@pytest.mark.parametrize("token, psn", [
    (None, "000001"), ("", "000001"), ("zz" * 44, "000001"), ("00" * 43, "000001"), ("00" * 44, "000001"),
    ("good", None), ("good", ""), ("good", "0"), ("good", "1000000"), ("good", "0x1"), ("good", "g")])
def test_a_faulty_connect_is_400_and_says_nothing(server, device, token, psn):
    token = endpoint_text(17, device.gid) if token == "good" else token
    headers = {name: value for name, value in (("x-amz-rdma-token", token), ("x-amz-rdma-psn", psn))
               if value is not None}
    answer = signed_http.plain(server, "POST", CONNECT, headers)
    assert (answer.status, answer.body) == (400, b"")
    assert "x-amz-rdma-reply" not in answer.headers


def test_disconnect_is_204_whatever_it_names(server, session):
    for name in (session.id, session.id, "0" * 32, ""):
        answer = signed_http.plain(server, "POST", DISCONNECT, {"x-amz-rdma-session": name})
        assert (answer.status, answer.body) == (204, b"")


def test_get_writes_the_object_and_not_a_byte_more(device, session):
    memory = landing(device, LARGE + 4096)
    assert_done(session.get(f"/{BUCKET}/large", session.token(memory)), 200, LARGE)
    assert not content.difference(memory.read(LARGE, 0), 1, 0, LARGE)
    assert memory.read(4096, LARGE) == CANARY * 4096


def test_get_writes_a_range_into_its_window(device, session):
    memory = landing(device, 3 * 4096)
    answer = session.get(f"/{BUCKET}/large", session.token(memory, 4096, offset=4096), (LARGE - 4096, LARGE - 1))
    assert_done(answer, 206, 4096)
    assert answer.headers["content-range"] == f"bytes {LARGE - 4096}-{LARGE - 1}/{LARGE}"
    assert memory.read(4096, 0) == memory.read(4096, 8192) == CANARY * 4096
    assert not content.difference(memory.read(4096, 4096), 1, LARGE - 4096, 4096)


def test_a_window_too_small_is_refused_and_not_truncated(device, session):
    memory = landing(device, 4096)
    answer = session.get(f"/{BUCKET}/large", session.token(memory))
    assert (answer.status, answer.code()) == (400, "InvalidRDMAToken")
    assert memory.read(4096, 0) == CANARY * 4096


def test_put_reads_the_window_and_a_session_serves_many_requests(server, device, session):
    memory = device.memory(LARGE, PUT_ACCESS)
    memory.write(content.expected(7, 0, LARGE), LARGE)
    for name, size in (("one", LARGE), ("two", 1), ("three", 4097)):
        assert_done(session.put(f"/{BUCKET}/{name}", session.token(memory, size)), 200, size)
        assert not content.difference((server.root / BUCKET / name).read_bytes(), 7, 0, size)


@pytest.mark.parametrize("ending", ["bad rkey", "no session", "lost client"])
def test_a_put_that_fails_leaves_the_old_object(server, device, ending):
    old = server.root / BUCKET / "old"
    old.write_bytes(b"precious")
    session = Session(device, server)
    memory = device.memory(4096, PUT_ACCESS)
    token = session.token(memory, rkey=memory.rkey ^ 0x5A00 if ending == "bad rkey" else None)
    if ending == "no session":
        session.disconnect()
    if ending == "lost client":
        session.close()
    answer = session.put(f"/{BUCKET}/old", token)
    assert (answer.status, answer.code()) == (500, "RDMATransferFailed")
    assert old.read_bytes() == b"precious"
    session.close()


def test_a_part_that_fails_is_not_stored(server, device, session):
    created = signed_http.signed(server, "POST", f"/{BUCKET}/parts", {"content-length": "0"}, "uploads")
    upload = created.body.decode().split("<UploadId>")[1].split("</UploadId>")[0]
    memory = device.memory(6 * MIB, PUT_ACCESS)
    # The first staging buffer arrives; the second would come from after the region.
    too_far = session.token(memory, 12 * MIB)
    assert session.put(f"/{BUCKET}/parts", too_far, f"partNumber=1&uploadId={upload}").status == 500
    parts = signed_http.signed(server, "GET", f"/{BUCKET}/parts", query=f"uploadId={upload}")
    assert parts.status == 200 and b"<PartNumber>" not in parts.body


def test_a_failed_transfer_ends_its_session_and_a_refused_one_does_not(device, session):
    memory = landing(device, 4096)
    whole = (0, 4095)
    assert session.get(f"/{BUCKET}/nothing", session.token(memory), whole).status == 404
    assert session.get(f"/{BUCKET}/large", f"rc:{session.id}:zz:1000:1", whole).status in (400, 500)
    assert session.get(f"/{BUCKET}/large", session.token(memory), whole).status == 206
    failed = session.get(f"/{BUCKET}/large", session.token(memory, rkey=memory.rkey ^ 0x5A00), whole)
    assert (failed.status, failed.code()) == (500, "RDMATransferFailed")
    assert session.get(f"/{BUCKET}/large", session.token(memory), whole).status == 500


def test_a_busy_session_refuses_a_second_request_and_still_works(device, session):
    memory = landing(device, HUGE)
    first = []
    thread = threading.Thread(target=lambda: first.append(session.get(f"/{BUCKET}/huge", session.token(memory))))
    small, refused = landing(device, 4096), 0
    before = memory.read(8, 0)
    thread.start()
    # Otherwise the small request might come first, and the large one be refused.
    while thread.is_alive() and memory.read(8, 0) == before:
        time.sleep(0.001)
    while thread.is_alive():
        refused += session.get(f"/{BUCKET}/large", session.token(small), (0, 4095)).status == 500
    thread.join()
    assert refused > 0, "the transfer ended before the second request came: make it longer"
    assert_done(first[0], 200, HUGE)
    assert not content.difference(memory.read(HUGE, 0), 2, 0, HUGE)
    assert session.get(f"/{BUCKET}/large", session.token(small), (0, 4095)).status == 206


def test_sixty_four_sessions_at_once(server, device):
    size, sessions = 300_001, [Session(device, server) for _ in range(64)]
    memories = [landing(device, size) for _ in sessions]
    answers = [None] * len(sessions)

    def get(index):
        begin = index * 100_003
        answers[index] = sessions[index].get(f"/{BUCKET}/large", sessions[index].token(memories[index]),
                                             (begin, begin + size - 1))
    threads = [threading.Thread(target=get, args=(index,)) for index in range(len(sessions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for index, (session, answer) in enumerate(zip(sessions, answers)):
        assert_done(answer, 206, size)
        assert not content.difference(memories[index].read(size, 0), 1, index * 100_003, size)
        assert session.disconnect().status == 204
        session.close()


def test_shm_tokens_are_served_too(server):
    answer = signed_http.signed(server, "GET", f"/{BUCKET}/large", {"x-amz-rdma-token": "shm:nonsense"})
    assert (answer.status, answer.code()) == (400, "InvalidRDMAToken")


def test_without_the_transport_there_is_no_endpoint_and_tokens_are_declined(site):
    server = site.target("--rc", "off")
    content.write(server.root / BUCKET / "file", 1, 1000)
    answer = signed_http.plain(server, "POST", CONNECT, {})
    assert (answer.status, answer.body) == (404, b"")
    declined = signed_http.signed(server, "GET", f"/{BUCKET}/file",
                                  {"x-amz-rdma-token": f"rc:{'0' * 32}:{0:016x}:{1000:08x}:{1:08x}"})
    assert (declined.status, declined.headers["x-amz-rdma-reply"]) == (200, "501")
    assert not content.difference(declined.body, 1, 0, 1000)
