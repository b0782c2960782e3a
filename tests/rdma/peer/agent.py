# SPDX-License-Identifier: Apache-2.0
"""Host 2's side of the tests with two hosts: runs what host 1 asks for. Only ever run in a guest.

One JSON object a line, over TCP, each answered by one: {"run": [...]} runs a command to its end;
{"call": "name", "arguments": [...]} calls one of the methods of Server below.
"""

import json
import os
import socketserver
import subprocess
import sys
from pathlib import Path

PORT = 7000
ADDRESS = "10.9.0.2"
BUCKET = "wire"

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "mount"))


class Server:
    """The s3rdma-target of host 2, and its files."""

    def __init__(self):
        from harness.settings import BUILD
        from harness.target import Target
        Target.address = ADDRESS
        folder = Path(os.environ["TMPDIR"])
        (folder / "root/stored").mkdir(parents=True)
        self._target = Target(BUILD / "tools/target/s3rdma-target", folder / "root", folder / "target.log",
                              "--rc", "rxe0")

    def endpoint(self):
        return self._target.endpoint

    def write(self, name, number, size):
        from harness import content
        content.write(self._target.root / BUCKET / name, number, size)

    def compare(self, name, number, size):
        """Raises where a file is not what write() would make."""
        from harness import content
        why = content.difference((self._target.root / name).read_bytes(), number, 0, size)
        if why:
            raise ValueError(why)


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            self.wfile.write(json.dumps(self._answer(json.loads(line))).encode() + b"\n")

    def _answer(self, request):
        try:
            if "run" in request:
                done = subprocess.run(request["run"], check=False, timeout=60, stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                return {"status": done.returncode, "value": done.stdout}
            return {"status": 0, "value": getattr(self.server.served, request["call"])(*request["arguments"])}
        except Exception as failure:  # whatever it is, host 1 shall read it
            return {"status": 1, "value": repr(failure)}


def main():
    with socketserver.ThreadingTCPServer((ADDRESS, PORT), Handler) as server:
        server.daemon_threads = True
        server.served = Server()
        server.serve_forever()


if __name__ == "__main__":
    main()
