# SPDX-License-Identifier: Apache-2.0
"""The messages of include/s3rdmafs/client/attach_wire.h, as a program would send them that does not use the
library: also wrong ones."""

import array
import os
import socket
import struct
from dataclasses import dataclass

OPEN, GET, PREFETCH, RELEASE, CLOSE = 1, 2, 3, 4, 5
OK, BAD_REQUEST, NOT_OF_MOUNT, WRITABLE, NO_TICKET, TOO_MANY, NO_ROOM, FAILED = range(8)
VERSION = 1
NO_TICKET_YET = (0, 0)
REQUEST = struct.Struct("=IIQQQQ")
REPLY = struct.Struct("=IIQQQQQQQ")
TIMEOUT_S = 20


@dataclass
class Reply:
    status: int
    ticket: tuple
    object_bytes: int
    part_bytes: int
    parts_max: int
    offset: int
    length: int
    fd: int


def socket_of(path):
    return os.getxattr(path, "s3.attach_socket").decode()


class Client:
    def __init__(self, path):
        """@param path  of any file of the mount"""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(TIMEOUT_S)
        self._socket.connect(socket_of(path))

    def send(self, data, fds=()):
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        self._socket.sendmsg([data], rights)

    def receive(self):
        """None where the daemon has ended the connection."""
        try:
            data, rights, _, _ = self._socket.recvmsg(REPLY.size, socket.CMSG_SPACE(64))
        except ConnectionResetError:
            return None
        if not data:
            return None
        version, status, high, low, object_bytes, part_bytes, parts_max, offset, length = REPLY.unpack(data)
        assert version == VERSION
        fds = array.array("i")
        for _, _, payload in rights:
            fds.frombytes(payload)
        assert len(fds) <= 1
        return Reply(status, (high, low), object_bytes, part_bytes, parts_max, offset, length,
                     fds[0] if fds else -1)

    def tell(self, kind, ticket=NO_TICKET_YET, offset=0, length=0, version=VERSION):
        self.send(REQUEST.pack(version, kind, *ticket, offset, length))

    def ask(self, kind, ticket=NO_TICKET_YET, offset=0, length=0, fds=(), version=VERSION):
        self.send(REQUEST.pack(version, kind, *ticket, offset, length), fds)
        return self.receive()

    def open(self, path, flags=os.O_RDONLY):
        fd = os.open(path, flags)
        try:
            return self.ask(OPEN, fds=[fd])
        finally:
            os.close(fd)

    def close(self):
        self._socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
