# SPDX-License-Identifier: Apache-2.0
"""A mount on one host, its server on another, and between them a wire that is good, bad or cut: every byte
right, by RDMA where that is possible."""

import subprocess
import threading
import time

from harness import content
from harness.mount import GET_BYTES, assert_nothing_held, total
from harness.processes import eventually
from harness.units import MIB
from peer.agent import BUCKET
from two_hosts.files import SIZES

TOTAL = sum(SIZES.values())
# The largest payload of a RoCE packet.
PACKET_BYTES = 4096
# The time of the cut, of the server's retries, and for waiting requests to finish.
PATIENCE = {"deadline": "60s"}


def mount_rc(site, host2, **sections):
    return site.mount(host2, BUCKET, rdma={"mode": "prefer", "fabric": "rc", "threshold": "0"},
                      retry=PATIENCE, **sections)


def assert_every_byte(mounted):
    for number, (name, size) in enumerate(SIZES.items()):
        why = content.difference((mounted / name).read_bytes(), number, 0, size)
        assert not why, f"{name}: {why}"


def counter(name):
    """One of rxe0's own counters."""
    words = subprocess.run(["rdma", "statistic", "show", "link", "rxe0"], check=True, timeout=20,
                           stdout=subprocess.PIPE, text=True).stdout.split()
    return int(words[words.index(name) + 1])


def test_every_byte_arrives_by_rdma(site, host2, wire):
    packets = counter("rcvd_pkts")
    mounted = mount_rc(site, host2)
    assert_every_byte(mounted)
    stats = mounted.stats()
    by_rdma, by_http = (total(stats, GET_BYTES, f'path="{path}"') for path in ("rdma", "http"))
    why = {series: value for series, value in stats.items() if "fallbacks" in series or "broken" in series}
    assert by_rdma > 0.99 * (by_rdma + by_http) and by_rdma >= TOTAL, f"RDMA {by_rdma}, HTTP {by_http}: {why}"
    assert counter("rcvd_pkts") - packets >= by_rdma / PACKET_BYTES
    assert_nothing_held(mounted)


def test_a_link_down_for_ten_seconds_costs_time_and_no_byte(site, host2):
    # More than the smallest cache holds: the reader needs the wire all the time.
    files = {f"more{number}": (number, 24 * MIB) for number in (100, 101, 102, 103)}
    for name, (number, size) in files.items():
        host2.call("write", name, number, size)
    mounted = mount_rc(site, host2, cache={"size": "64MiB"})
    wrong, stopping = [], threading.Event()

    def read():
        try:
            while not stopping.is_set():
                for name, (number, size) in files.items():
                    if why := content.difference((mounted / name).read_bytes(), number, 0, size):
                        wrong.append(f"{name}: {why}")
        except OSError as failure:
            wrong.append(repr(failure))

    def by_rdma():
        return total(mounted.stats(), GET_BYTES, 'path="rdma"')

    reader = threading.Thread(target=read)
    reader.start()
    try:
        eventually(lambda: by_rdma() > 4 * MIB, 60, "reads go on by RDMA")
        subprocess.run(["ip", "link", "set", "rail", "down"], check=True, timeout=20)
        time.sleep(10)  # what the test is about
        before = by_rdma()
        subprocess.run(["ip", "link", "set", "rail", "up"], check=True, timeout=20)
        eventually(lambda: wrong or by_rdma() > before + 32 * MIB, 120, "reads go on by RDMA when the link is back")
    finally:
        stopping.set()
        reader.join(120)
    assert not wrong and not reader.is_alive(), wrong
