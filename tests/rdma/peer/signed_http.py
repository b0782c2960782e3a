# SPDX-License-Identifier: Apache-2.0
"""S3 requests with Signature Version 4, over plain http.client: every header is signed, no body is hashed."""

import hashlib
import hmac
import http.client
import time
from urllib.parse import quote, urlsplit

SECONDS = 90  # longer than the server's own limit for a piece of a transfer


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers  # looked up without regard to case
        self.body = response.read()

    def code(self):
        """The <Code> of an S3 error."""
        text = self.body.decode()
        return text.split("<Code>")[1].split("</Code>")[0] if "<Code>" in text else ""


def plain(server, method, path, headers=None):
    """A request without a signature."""
    address = urlsplit(server.endpoint)
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=SECONDS)
    try:
        connection.request(method, path, body=b"" if method in ("PUT", "POST") else None, headers=headers or {})
        return Answer(connection.getresponse())
    finally:
        connection.close()


def signed(server, method, path, headers=None, query=""):
    """@param path, query  as they go on the wire, nothing to encode in them but "/" """
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    all_headers = {"host": urlsplit(server.endpoint).netloc, "x-amz-date": stamp,
                   "x-amz-content-sha256": "UNSIGNED-PAYLOAD", **(headers or {})}
    names = sorted(all_headers)
    canonical = "\n".join([method, quote(path), _canonical_query(query),
                           *(f"{name}:{all_headers[name].strip()}" for name in names), "",
                           ";".join(names), "UNSIGNED-PAYLOAD"])
    scope = f"{stamp[:8]}/us-east-1/s3/aws4_request"
    to_sign = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = b"AWS4" + server.secret_key.encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, to_sign.encode(), "sha256").hex()
    all_headers["authorization"] = (f"AWS4-HMAC-SHA256 Credential={server.access_key}/{scope}, "
                                    f"SignedHeaders={';'.join(names)}, Signature={signature}")
    return plain(server, method, path + (f"?{query}" if query else ""), all_headers)


def _canonical_query(query):
    parts = [part if "=" in part else part + "=" for part in query.split("&") if part]
    return "&".join(sorted(parts))
