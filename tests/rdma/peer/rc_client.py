# SPDX-License-Identifier: Apache-2.0
"""A client of the rc dialect, made from its description (s3rdmafs-protocol(7)) and nothing of ours.

It stops at RTR unless told otherwise: a client of this dialect only responds.
"""

import re
import secrets
import struct

from pyverbs.addr import AHAttr, GID, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.enums import (IBV_ACCESS_LOCAL_WRITE, IBV_ACCESS_REMOTE_READ, IBV_ACCESS_REMOTE_WRITE,
                           IBV_MTU_4096, IBV_QPT_RC)
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr

from . import signed_http

CONNECT = "/.s3rdma-rc/connect"
DISCONNECT = "/.s3rdma-rc/disconnect"
GET_ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE
PUT_ACCESS = IBV_ACCESS_REMOTE_READ

# transport, queue pair, GID, rkey, address, length, port, LID
_ENDPOINT = struct.Struct("<BI16sIQQBH")
assert _ENDPOINT.size == 44


def endpoint_text(qpn, gid, port=1):
    return _ENDPOINT.pack(1, qpn, gid, 0, 0, 0, port, 0).hex()


class Device:
    """A device, its first port, and the GID whose text ends like the address's."""

    def __init__(self, name, address):
        self.context = Context(name=name)
        self.pd = PD(self.context)
        wanted = bytes(10) + b"\xff\xff" + bytes(int(part) for part in address.split("."))
        for index in range(16):
            gid = bytes.fromhex(str(self.context.query_gid(1, index).gid).replace(":", ""))
            if gid == wanted:
                self.gid_index, self.gid = index, gid
                return
        raise AssertionError(f"{name} has no GID for {address}")

    def memory(self, size, access):
        return MR(self.pd, size, access)


class Session:
    """A queue pair connected to the server's."""

    def __init__(self, device, server, access=GET_ACCESS | PUT_ACCESS):
        self.server = server
        self.cq = CQ(device.context, 16)
        cap = QPCap(max_send_wr=8, max_recv_wr=8, max_send_sge=1, max_recv_sge=1)
        self.qp = QP(device.pd, QPInitAttr(qp_type=IBV_QPT_RC, scq=self.cq, rcq=self.cq, cap=cap))
        attributes = QPAttr(port_num=1)
        attributes.qp_access_flags = access & (IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE)
        self.qp.to_init(attributes)

        psn = 1 + secrets.randbelow(0xFFFFFE)
        self.answer = signed_http.plain(server, "POST", CONNECT, {
            "x-amz-rdma-token": endpoint_text(self.qp.qp_num, device.gid), "x-amz-rdma-psn": f"{psn:06x}"})
        assert self.answer.status == 200, self.answer.status
        self.id = self.answer.headers["x-amz-rdma-session"]
        reply = re.fullmatch("200:([0-9a-f]{88})", self.answer.headers["x-amz-rdma-reply"]).group(1)
        _, qpn, gid, *_ = _ENDPOINT.unpack(bytes.fromhex(reply))

        attributes.path_mtu = IBV_MTU_4096
        attributes.dest_qp_num = qpn
        attributes.rq_psn = int(self.answer.headers["x-amz-rdma-psn"], 16)
        attributes.max_dest_rd_atomic = 1
        attributes.min_rnr_timer = 12
        route = GlobalRoute(dgid=GID(":".join(gid.hex()[i:i + 4] for i in range(0, 32, 4))),
                            sgid_index=device.gid_index, hop_limit=64)
        attributes.ah_attr = AHAttr(port_num=1, is_global=1, gr=route)
        self.qp.to_rtr(attributes)

    def token(self, memory, size=None, offset=0, rkey=None):
        size = memory.length - offset if size is None else size
        rkey = memory.rkey if rkey is None else rkey
        return f"rc:{self.id}:{memory.buf + offset:016x}:{size:08x}:{rkey:08x}"

    def get(self, path, token, byte_range=None):
        headers = {"x-amz-rdma-token": token}
        if byte_range:
            headers["range"] = f"bytes={byte_range[0]}-{byte_range[1]}"
        return signed_http.signed(self.server, "GET", path, headers)

    def put(self, path, token, query=""):
        return signed_http.signed(self.server, "PUT", path, {"x-amz-rdma-token": token, "content-length": "0"}, query)

    def disconnect(self):
        return signed_http.plain(self.server, "POST", DISCONNECT, {"x-amz-rdma-session": self.id})

    def close(self):
        self.qp.close()
        self.cq.close()
