# SPDX-License-Identifier: Apache-2.0
"""Another client of a bucket: single requests over plain HTTP with Signature Version 4."""

import datetime
import hashlib
import hmac
import http.client
from urllib.parse import quote, urlsplit
from xml.etree import ElementTree

REGION = "us-east-1"


def _hmac(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


class Bucket:
    """Keys are of letters, digits, slashes and "-._~", which need no escape."""

    def __init__(self, endpoint, name, access_key, secret_key):
        self.name, self.access_key, self.secret_key = name, access_key, secret_key
        self.host = urlsplit(endpoint).netloc

    def _signed(self, method, path, query):
        time = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
        scope = f"{time[:8]}/{REGION}/s3/aws4_request"
        headers = {"host": self.host, "x-amz-content-sha256": "UNSIGNED-PAYLOAD", "x-amz-date": time}
        names = ";".join(headers)
        request = "\n".join((method, path, query, *(f"{name}:{value}" for name, value in headers.items()), "", names,
                             headers["x-amz-content-sha256"]))
        text = "\n".join(("AWS4-HMAC-SHA256", time, scope, hashlib.sha256(request.encode()).hexdigest()))
        key = ("AWS4" + self.secret_key).encode()
        for part in scope.split("/"):
            key = _hmac(key, part)
        signature = _hmac(key, text).hex()
        return headers | {"authorization": f"AWS4-HMAC-SHA256 Credential={self.access_key}/{scope}, "
                                           f"SignedHeaders={names}, Signature={signature}"}

    def _ask(self, method, key, body=None, query=""):
        """The body of the answer; None: there is none such. The query is in the order of its names, as it is signed."""
        path = f"/{self.name}{key}"
        connection = http.client.HTTPConnection(self.host, timeout=60)
        try:
            connection.request(method, path + (query and f"?{query}"), body, self._signed(method, path, query))
            response = connection.getresponse()
            data = response.read()
        finally:
            connection.close()
        if response.status not in (200, 204, 404):
            raise RuntimeError(f"{method} {path}: {response.status} {data[:300]}")
        return data if response.status != 404 else None

    def _put(self, key, body):
        if self._ask("PUT", key, body) is None:
            raise RuntimeError(f"PUT {key}: not found")

    def make(self):
        self._put("", b"")

    def put(self, key, body):
        self._put(f"/{key}", body)

    def remove(self, key):
        self._ask("DELETE", f"/{key}")

    def get(self, key):
        """The bytes; None: the key is absent."""
        return self._ask("GET", f"/{key}")

    def uploads(self, prefix="", what="Key"):
        """The keys, or with "UploadId" the ids, of uploads that were begun and not ended; a page of them."""
        answer = ElementTree.fromstring(self._ask("GET", "", query=f"prefix={quote(prefix, safe='-_.~')}&uploads="))
        namespace = answer.tag.removesuffix("ListMultipartUploadsResult")
        return [upload.findtext(namespace + what) for upload in answer.iter(namespace + "Upload")]

    def has(self, key):
        return self._ask("HEAD", f"/{key}") is not None
