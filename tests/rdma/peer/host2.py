# SPDX-License-Identifier: Apache-2.0
"""Host 2 as host 1 uses it: its s3rdma-target and its network card."""

import json
import socket

from harness import target
from harness.processes import eventually

from .agent import ADDRESS, PORT

# Both guests boot at the same time; under an emulated processor one may take a minute longer.
BOOT_SECONDS = 120


class Host2:
    access_key = target.ACCESS_KEY
    secret_key = target.SECRET_KEY

    def __init__(self):
        self._socket = eventually(self._connect, BOOT_SECONDS, "host 2's agent accepts connections")
        self._stream = self._socket.makefile("rw")
        self.endpoint = self.call("endpoint")

    @staticmethod
    def _connect():
        try:
            return socket.create_connection((ADDRESS, PORT), timeout=60)
        except OSError:
            return None

    def _ask(self, request):
        self._stream.write(json.dumps(request) + "\n")
        self._stream.flush()
        answer = json.loads(self._stream.readline())
        assert answer["status"] == 0, answer["value"]
        return answer["value"]

    def call(self, name, *arguments):
        return self._ask({"call": name, "arguments": arguments})

    def run(self, *command):
        return self._ask({"run": command})

    def close(self):
        self._socket.close()
