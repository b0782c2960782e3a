# SPDX-License-Identifier: Apache-2.0
"""Host 2 with its files, and what is done to the wire."""

import subprocess

import pytest
from peer.host2 import Host2
from two_hosts.files import SIZES


@pytest.fixture(scope="session")
def host2():
    other = Host2()
    for number, (name, size) in enumerate(SIZES.items()):
        other.call("write", name, number, size)
    yield other
    other.close()


# netem's treatment of each packet.
WIRES = {"good": (), "loses 1 %": ("loss", "1%"), "late": ("delay", "5ms")}


@pytest.fixture(params=WIRES.values(), ids=WIRES.keys())
def wire(host2, request):
    """The wire in one condition, in both directions."""
    rules = ("tc", "qdisc", "add", "dev", "rail", "root", "netem", "limit", "100000", *request.param)
    if request.param:
        subprocess.run(rules, check=True, timeout=20)
        host2.run(*rules)
    yield request.param
    if request.param:
        host2_dropped = dropped_packets(host2.run("tc", "-s", "qdisc", "show", "dev", "rail"))
        for_both = ("tc", "qdisc", "del", "dev", "rail", "root")
        subprocess.run(for_both, check=True, timeout=20)
        host2.run(*for_both)
        assert host2_dropped > 0 or "loss" not in request.param, "no packet was lost: the test proves nothing"


def dropped_packets(text):
    """Of the output of tc -s qdisc show."""
    return int(text.split("dropped ")[1].split(",")[0])
