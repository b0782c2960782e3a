# SPDX-License-Identifier: Apache-2.0
"""The embedded S3 server, s3rdma-target, on a free port over a folder of the test."""

import subprocess

from .processes import ReservedPort, eventually, stop

ACCESS_KEY = "TESTACCESSKEY"
SECRET_KEY = "testsecretkey0123456789"


class Target:
    """A running s3rdma-target. Each folder directly below `root` is a bucket."""

    access_key = ACCESS_KEY
    secret_key = SECRET_KEY
    address = "127.0.0.1"

    def __init__(self, program, root, log, *options):
        self.program, self.root, self.log, self.options = program, root, log, options
        self._reserved = ReservedPort(self.address)  # also while it is down: a restart takes the same port
        self.port = self._reserved.number
        self.port_file = log.with_suffix(".port")
        self.process = None
        root.mkdir(parents=True, exist_ok=True)
        try:
            self.start()
        except BaseException:
            self._reserved.end()
            raise

    @property
    def endpoint(self):
        return f"http://{self.address}:{self.port}"

    def start(self):
        """Starts it, on the same port each time; returns when it accepts connections."""
        self.port_file.unlink(missing_ok=True)
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [self.program, "--root", self.root, "--listen", f"{self.address}:{self.port}",
                 "--key", f"{ACCESS_KEY}:{SECRET_KEY}", "--port-file", self.port_file, *self.options],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            eventually(self._accepts, 15, "s3rdma-target accepts connections")
        except BaseException:
            stop(self.process)
            raise

    def _accepts(self):
        if self.process.poll() is not None:
            raise AssertionError(f"s3rdma-target ended with {self.process.returncode}:\n{self.log.read_text()}")
        return self.port_file.exists()

    def kill(self):
        """Ends it as a crash would; its port stays reserved."""
        self.process.kill()
        self.process.wait(10)

    def stop(self):
        stop(self.process)
        self._reserved.end()
