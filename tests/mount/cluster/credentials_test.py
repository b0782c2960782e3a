# SPDX-License-Identifier: Apache-2.0
"""Keys that end while a mount uses them, from each place that gives some: reads and writes go on. The server refuses keys that
have ended, and signatures of other keys."""

import errno
import hashlib
import json
import os
import shlex
import stat
import threading
import time

import pytest
from harness import content
from harness.key_service import AUTHORIZATION, ROLE, SECRET, SIGN_IN, WEB_TOKEN, KeyService, make_keys
from harness.mount import MountFailed, total
from harness.processes import eventually
from harness.writing import MIB, fails_with

pytestmark = pytest.mark.needs_fuse

BUCKET = "rotated"
SECONDS = 10  # of keys; new ones come after seven and a half
NO_KEYS = {"access_key_id": "", "secret_access_key": ""}
WRITING = {"mode": "sequential", "buffer_size": "64MiB"}


@pytest.fixture(scope="module")
def server(shared_site):
    return shared_site.target("--temporary-keys", SECRET, bucket=BUCKET)


@pytest.fixture
def service():
    made = KeyService(SECONDS)
    yield made
    made.stop()


@pytest.fixture
def environment(monkeypatch, tmp_path):
    """The environment of a mount that knows no keys."""
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    (tmp_path / "home/.aws").mkdir(parents=True)
    return monkeypatch


def profile(tmp_path, text):
    file = tmp_path / "home/.aws/config"
    file.write_text(f"[default]\n{text}\n[profile signer]\naws_access_key_id = SIGNER\naws_secret_access_key = s\n")
    file.chmod(0o600)


def from_container(service, environment, tmp_path):
    (tmp_path / "token").write_text(AUTHORIZATION + "\n")
    environment.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", service.url + "/container")
    environment.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", str(tmp_path / "token"))


def from_instance(service, environment, _):
    environment.delenv("AWS_EC2_METADATA_DISABLED")
    environment.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", service.url)


def from_web_identity(service, environment, tmp_path):
    (tmp_path / "token").write_text(WEB_TOKEN)
    environment.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(tmp_path / "token"))
    environment.setenv("AWS_ROLE_ARN", ROLE)
    environment.setenv("AWS_ENDPOINT_URL_STS", service.url)


def from_role(service, environment, tmp_path):
    profile(tmp_path, f"role_arn = {ROLE}\nsource_profile = signer")
    environment.setenv("AWS_ENDPOINT_URL_STS", service.url)


def from_process(service, _, tmp_path):
    program = tmp_path / "print keys"
    # Not in Python, whose start takes a second on a busy machine: two and a half are left when the keys are renewed.
    program.write_text(f"""#!/bin/sh
exec curl --silent --fail --max-time 10 --header {shlex.quote("Authorization: " + AUTHORIZATION)} {service.url}/program
""")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    profile(tmp_path, f'credential_process = "{program}"')


def sign_in(tmp_path, seconds, token=SIGN_IN):
    """As `aws sso login` leaves it."""
    cache = tmp_path / "home/.aws/sso/cache"
    cache.mkdir(parents=True, exist_ok=True)
    end = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))
    (cache / (hashlib.sha1(b"people").hexdigest() + ".json")).write_text(json.dumps({"accessToken": token, "expiresAt": end}))


def from_sso(service, environment, tmp_path):
    profile(tmp_path, "sso_session = people\nsso_account_id = 123456789012\nsso_role_name = trainer\n"
                      f"[sso-session people]\nsso_region = us-east-1\nsso_start_url = {service.url}/start")
    environment.setenv("AWS_ENDPOINT_URL_SSO", service.url)
    sign_in(tmp_path, 3600)


SOURCES = [from_container, from_instance, from_web_identity, from_role, from_process, from_sso]


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.__name__.removeprefix("from_"))
def test_reads_and_writes_go_on_over_the_end_of_keys(site, server, service, environment, tmp_path, source):
    source(service, environment, tmp_path)
    folder = server.root / BUCKET / source.__name__
    folder.mkdir()
    large = content.expected(1, 0, 40 * MIB)
    (folder / "large").write_bytes(large)
    mounted = site.mount(server, BUCKET, credentials=NO_KEYS, write=WRITING, cache={"size": "64MiB"})
    at = mounted / source.__name__
    until = time.monotonic() + 1.8 * SECONDS
    failures = []

    def write_slowly():
        """One upload, over the end of the keys with which it began."""
        try:
            with open(at / "written", "wb", buffering=0) as file:
                for offset in range(0, len(large), MIB):
                    file.write(large[offset:offset + MIB])
                    time.sleep(max(0.0, until - time.monotonic()) / 40 if offset else SECONDS)
        except OSError as error:
            failures.append(error)

    writer = threading.Thread(target=write_slowly)
    writer.start()
    number = 0
    while time.monotonic() < until or writer.is_alive():
        with open(at / "large", "rb", buffering=0) as file:
            for offset in range(0, len(large), 8 * MIB):
                assert file.read(8 * MIB) == large[offset:offset + 8 * MIB]
                time.sleep(0.1)
        (at / f"small-{number}").write_bytes(b"small")
        number += 1
    writer.join()
    assert not failures
    assert (folder / "written").read_bytes() == large
    assert total(mounted.stats(), "credentials_renewals_total") >= 3
    assert total(mounted.stats(), "credentials_failures_total") == 0
    assert len(set(service.given)) >= 3


@pytest.mark.parametrize("seconds, token, why", [(-1, SIGN_IN, "the sign-in has ended"), (3600, "another", "does not take the sign-in")])
def test_a_sign_in_that_is_of_no_use_is_told_with_what_to_do(site, server, service, environment, tmp_path, seconds, token, why):
    from_sso(service, environment, tmp_path)
    site.mount(server, BUCKET, credentials=NO_KEYS).unmount()  # the control
    sign_in(tmp_path, seconds, token)
    with pytest.raises(MountFailed, match=f"{why}.*aws sso login --profile default"):
        site.mount(server, BUCKET, credentials=NO_KEYS)


def test_a_service_that_is_down_is_not_noticed_before_the_keys_end(site, server, service, environment, tmp_path):
    from_container(service, environment, tmp_path)
    (server.root / BUCKET / "down").mkdir()
    log = tmp_path / "log"
    mounted = site.mount(server, BUCKET, credentials=NO_KEYS, log={"file": str(log)}, metadata={"ttl": "0s"})

    def look(name):
        """A name that was never asked for, so the server is."""
        try:
            os.stat(mounted / f"down/{name}")
        except OSError as error:
            return error.errno
        return 0

    assert look("first") == errno.ENOENT
    service.is_down = True
    eventually(lambda: total(mounted.stats(), "credentials_failures_total") >= 1, 30, "new keys were asked for")
    assert look("second") == errno.ENOENT, "the present ones have not ended"
    eventually(lambda: look("third") == errno.EACCES, 30, "they end")
    eventually(lambda: "so requests fail" in log.read_text(), 60, "the log says so")
    assert "status 503" in log.read_text() and service.url in log.read_text()
    service.is_down = False
    eventually(lambda: look("fourth") == errno.ENOENT, 60, "the next attempt brings new ones")
    for key in service.given:
        assert key not in log.read_text(), "no key is logged"


def test_keys_that_an_administrator_writes_are_taken(site, server, environment, tmp_path):
    file = tmp_path / "keys"

    def write(keys):
        text = (f"[mount]\naws_access_key_id = {keys['AccessKeyId']}\naws_secret_access_key = {keys['SecretAccessKey']}\n"
                f"aws_session_token = {keys['Token']}\n")
        new = tmp_path / "new"
        new.write_text(text)
        new.chmod(0o600)
        new.rename(file)

    write(make_keys(6, 1))
    mounted = site.mount(server, BUCKET, metadata={"ttl": "0s"},
                         credentials={**NO_KEYS, "file": str(file), "profile": "mount"})
    assert not os.path.exists(mounted / "one")
    with_first = time.monotonic()
    write(make_keys(600, 2))
    eventually(lambda: total(mounted.stats(), "credentials_renewals_total") == 2, 30, "the file is read again")
    time.sleep(max(0.0, with_first + 7 - time.monotonic()))  # the first have ended
    with fails_with(errno.ENOENT):
        os.stat(mounted / "two")


@pytest.mark.parametrize(("settings", "said"), [
    ("credential_process = exit 7", "it ended with status 7"),
    ("sso_session = office", r"no section .sso-session office."),
    (f"role_arn = {ROLE}", "needs one of source_profile"),
    ("region = here", "no credentials; looked at"),
    ("source_profile = signer", "it has no aws_access_key_id"),
])
def test_a_mount_without_keys_says_what_to_do(site, server, environment, tmp_path, settings, said):
    profile(tmp_path, settings)
    with pytest.raises(MountFailed, match=said):
        site.mount(server, BUCKET, credentials=NO_KEYS)


def test_the_server_refuses_keys_that_have_ended_and_tokens_of_others(site, server, environment):
    """The control: without the right keys nothing above works."""
    keys = make_keys(-1, 1)
    wrong = {**make_keys(600, 2), "Token": "another"}
    for made, code in ((keys, "ExpiredToken"), (wrong, "InvalidToken")):
        with pytest.raises(MountFailed, match=code):
            site.mount(server, BUCKET, credentials={"access_key_id": made["AccessKeyId"], "secret_access_key": made["SecretAccessKey"],
                                                    "session_token": made["Token"]})
