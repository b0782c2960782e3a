# SPDX-License-Identifier: Apache-2.0
"""The embedded S3 server, s3rdma-target, on a free port over a folder of the test."""

import subprocess

from .processes import eventually, free_port, is_listening, stop

ACCESS_KEY = "TESTACCESSKEY"
SECRET_KEY = "testsecretkey0123456789"


class Target:
    """A running s3rdma-target. Each folder directly below `root` is a bucket."""

    access_key = ACCESS_KEY
    secret_key = SECRET_KEY

    def __init__(self, program, root, log, *options):
        self.program, self.root, self.log, self.options = program, root, log, options
        self.port = free_port()
        self.process = None
        root.mkdir(parents=True, exist_ok=True)
        self.start()

    @property
    def endpoint(self):
        return f"http://127.0.0.1:{self.port}"

    def start(self):
        """Starts it, again on the same port after a stop or a kill; returns when it listens."""
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [self.program, "--root", self.root, "--listen", f"127.0.0.1:{self.port}",
                 "--access-key", f"{ACCESS_KEY}:{SECRET_KEY}", *self.options],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            eventually(self._answers, 15, "s3rdma-target listens")
        except BaseException:
            stop(self.process)
            raise

    def _answers(self):
        if self.process.poll() is not None:
            raise AssertionError(f"s3rdma-target ended with {self.process.returncode}:\n{self.log.read_text()}")
        return is_listening(self.port)

    def kill(self):
        """What a crash looks like from outside."""
        self.process.kill()
        self.process.wait(10)

    def stop(self):
        stop(self.process)
