# SPDX-License-Identifier: Apache-2.0
"""Services that give temporary keys: the endpoint of a container, the metadata of an instance, STS, and the portal of SSO. One server on
127.0.0.1 plays all four. The keys are those of `s3rdma-target --temporary-keys`."""

import hashlib
import hmac
import http.server
import itertools
import json
import threading
import time
import urllib.parse

SECRET = "the secret that makes temporary keys"
ROLE = "arn:aws:iam::123456789012:role/trainer"
AUTHORIZATION = "the container's token"
WEB_TOKEN = "the cluster's token"
SIGN_IN = "a person's token"


def make_keys(seconds, number):
    """Keys that end so many seconds from now, as a document."""
    end = int(time.time()) + seconds
    access_key = f"ASIA{end}X{number}"
    made = {"AccessKeyId": access_key, "Expiration": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(end))}
    for name, text in (("SecretAccessKey", "secret "), ("Token", "token ")):
        made[name] = hmac.new(hashlib.sha256(SECRET.encode()).digest(), (text + access_key).encode(), hashlib.sha256).hexdigest()
    return made


class KeyService:
    """Runs until stopped. `seconds` is how long the next keys are good for; while `is_down` every answer is 503."""

    def __init__(self, seconds):
        self.seconds, self.is_down = seconds, False
        self.given = []  # access keys
        self._numbers = itertools.count()
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def stop(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)

    def keys(self):
        made = make_keys(self.seconds, next(self._numbers))
        self.given.append(made["AccessKeyId"])
        return made

    def sso_keys(self):
        """As the portal of IAM Identity Center writes them."""
        made = self.keys()
        end = int(made["AccessKeyId"].removeprefix("ASIA").split("X")[0])
        return {"roleCredentials": {"accessKeyId": made["AccessKeyId"], "secretAccessKey": made["SecretAccessKey"],
                                    "sessionToken": made["Token"], "expiration": end * 1000}}

    def _handler(service):
        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def answer(self, status, text=""):
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            def do_GET(self):
                role = "/latest/meta-data/iam/security-credentials/"
                has_session = self.headers.get("X-aws-ec2-metadata-token") == "session"
                if service.is_down:
                    self.answer(503)
                elif self.path == "/container":
                    good = self.headers.get("Authorization") == AUTHORIZATION
                    self.answer(200, json.dumps(service.keys())) if good else self.answer(403)
                elif self.path == "/program" and self.headers.get("Authorization") == AUTHORIZATION:
                    keys = service.keys()  # as the AWS tools want a program to print them
                    self.answer(200, json.dumps({"Version": 1, "SessionToken": keys.pop("Token"), **keys}))
                elif self.path == "/federation/credentials?role_name=trainer&account_id=123456789012":
                    self.answer(200, json.dumps(service.sso_keys())) if self.headers.get("x-amz-sso_bearer_token") == SIGN_IN else self.answer(401)
                elif self.path == role and has_session:
                    self.answer(200, "trainer")
                elif self.path == role + "trainer" and has_session:
                    self.answer(200, json.dumps({"Code": "Success", **service.keys()}))
                else:
                    self.answer(401)

            def do_PUT(self):
                is_session = self.path == "/latest/api/token" and self.headers.get("X-aws-ec2-metadata-token-ttl-seconds")
                self.answer(503) if service.is_down else self.answer(200, "session") if is_session else self.answer(404)

            def do_POST(self):
                form = dict(urllib.parse.parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
                signature = self.headers.get("Authorization", "")
                action = {"AssumeRole": "Credential=SIGNER/" in signature,
                          "AssumeRoleWithWebIdentity": form.get("WebIdentityToken") == WEB_TOKEN and not signature}
                if service.is_down:
                    self.answer(503)
                elif not action.get(form.get("Action")) or form.get("RoleArn") != ROLE:
                    self.answer(403, "<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>")
                else:
                    made = service.keys()
                    made["SessionToken"] = made.pop("Token")
                    fields = "".join(f"<{name}>{value}</{name}>" for name, value in made.items())
                    self.answer(200, f"<Response><Result><Credentials>{fields}</Credentials></Result></Response>")
        return Handler
