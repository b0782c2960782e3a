# SPDX-License-Identifier: Apache-2.0
"""Single S3 requests of another client, by curl: plain HTTP with Signature Version 4."""

import subprocess
from urllib.parse import quote

SECONDS = 60


def run(server, path, *options, body=b""):
    address = server.endpoint + quote(path)
    return subprocess.run(
        ["curl", "--silent", "--show-error", "--max-time", str(SECONDS), "--aws-sigv4", "aws:amz:us-east-1:s3",
         "--user", f"{server.access_key}:{server.secret_key}", "--header", "x-amz-content-sha256: UNSIGNED-PAYLOAD",
         *options, address],
        check=False, input=body, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


class Bucket:
    """A bucket of `server`, as a client without a mount has it. Keys are encoded here."""

    def __init__(self, server, name):
        self.server, self.name = server, name

    def _request(self, key, *options, body=b""):
        """The body of the answer; a status of 400 or more is an error."""
        result = run(self.server, f"/{self.name}{key}", "--fail-with-body", *options, body=body)
        assert result.returncode == 0, f"{key}: {result.stderr.decode()} {result.stdout[:500]}"
        return result.stdout

    def make(self):
        self._request("", "--request", "PUT")

    def get(self, key):
        return self._request(f"/{key}")

    def put(self, key, body):
        self._request(f"/{key}", "--request", "PUT", "--data-binary", "@-",
                      "--header", "content-type: application/octet-stream", body=body)

    def has(self, key):
        result = run(self.server, f"/{self.name}/{key}", "--head", "--output", "/dev/null", "--write-out", "%{http_code}")
        assert result.stdout in (b"200", b"404"), f"{key}: {result.stdout} {result.stderr.decode()}"
        return result.stdout == b"200"
