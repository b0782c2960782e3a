# SPDX-License-Identifier: Apache-2.0
"""`s3rdmafs doctor` passes where all is well, and names a planted fault in its first failing line."""

import json
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from harness import content
from harness.namespace import leaving_other_mounts
from harness.processes import ReservedPort

BUCKET = "data"


@pytest.fixture(scope="module")
def server(shared_site):
    target = shared_site.target()
    content.write(target.root / BUCKET / "object", 1, 5_000_000)
    return target


@pytest.fixture
def doctor(s3rdmafs):
    def run(*arguments, before=(), **keywords):
        return subprocess.run([*before, s3rdmafs, "doctor", *arguments], check=False, timeout=120,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **keywords)
    return run


def findings(result):
    return [line for line in result.stdout.splitlines() if line.split(" ")[0] in ("fail", "degraded")]


def assert_names(result, status, *words):
    assert result.returncode == status, result.stdout + result.stderr
    kind = {1: "degraded", 2: "fail"}[status]
    line = next(line for line in findings(result) if line.startswith(kind))
    for word in words:
        assert word in line, result.stdout


def test_a_mount_over_shm_passes(site, server, doctor):
    result = doctor(site.mount_file(server, BUCKET, write={"mode": "sequential"}))
    assert result.returncode == 0 and not findings(result), result.stdout
    assert "pass      RDMA write" in result.stdout, result.stdout
    assert "pass      RDMA sizes and MTU" in result.stdout, result.stdout
    left = server.root / BUCKET / ".s3rdmafs-doctor"
    assert not left.exists() or not list(left.iterdir()), "the test objects are removed"


def test_a_read_only_mount_writes_nothing(site, server, doctor):
    result = doctor(site.mount_file(server, BUCKET))
    assert "writing was not tested" in result.stdout
    assert "pass      RDMA read" in result.stdout, result.stdout


def test_json_has_what_the_text_has(site, server, doctor):
    report = json.loads(doctor(site.mount_file(server, BUCKET), "--json").stdout)
    assert report["verdict"] in ("pass", "degraded")
    assert {"name", "level", "seen", "advice"} == set(report["checks"][0])


def reject_constant(name):
    raise ValueError(f"{name} is not JSON")


def read_report(path):
    return json.loads(path.read_text(encoding="utf-8"), parse_constant=reject_constant)


def test_the_report_has_everything_but_secrets(site, server, doctor, tmp_path):
    path = tmp_path / "report.json"
    result = doctor(site.mount_file(server, BUCKET, write={"mode": "sequential"}), "--report", path)
    assert result.returncode == 0, result.stdout + result.stderr
    assert path.stat().st_mode & 0o777 == 0o600
    assert [entry.name for entry in tmp_path.glob("report*")] == ["report.json"], "no draft is left"
    report = read_report(path)
    assert report["format"] == 1 and report["verdict"] == "pass" and report["exit_status"] == 0
    assert report["machine"]["kernel"] and report["machine"]["processors"] >= 1
    assert {"s3rdmafs", "libfuse", "libcurl"} == set(report["versions"])
    assert isinstance(report["devices"], list)
    assert any(line.startswith('name = "data"') for line in report["settings"])
    checks = {check["name"]: check for check in report["checks"]}
    assert {"name", "level", "seen", "advice", "evidence", "seconds"} == set(checks["kernel"])
    rows = checks["bandwidth"]["evidence"]["measured"]
    assert rows and {(row["path"], row["failures"]) for row in rows} == {("shm", 0)}
    assert sum(check["seconds"] for check in report["checks"]) == pytest.approx(report["seconds"])
    assert server.secret_key not in path.read_text() and server.access_key not in path.read_text()


def test_the_report_of_a_machine_alone_is_valid_too(doctor, tmp_path):
    path = tmp_path / "report.json"
    doctor("--report", path)
    assert read_report(path)["settings"] == []


def test_a_report_that_cannot_be_written_is_an_error_of_its_own(doctor, tmp_path):
    result = doctor("--report", tmp_path / "no" / "such" / "folder")
    assert result.returncode == 73 and "no/such/folder" in result.stderr, result.stderr
    assert result.stdout == "", "it says so before the checks"


def test_a_report_goes_through_no_link(doctor, tmp_path):
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "precious")
    assert doctor("--report", tmp_path / "link").returncode == 73
    assert (tmp_path / "precious").read_text() == "mine"


def test_a_late_write_changes_nothing_after_a_fence(site, doctor):
    faulty = site.target("--allow-fault-control")
    (faulty.root / BUCKET).mkdir(exist_ok=True)
    result = doctor(site.mount_file(faulty, BUCKET, write={"mode": "sequential"}))
    assert result.returncode == 0, result.stdout
    assert "pass      late writes: shm: a write that came after the fence" in result.stdout, result.stdout


def test_a_server_whose_faults_are_its_own_is_left_alone(site, server, doctor):
    result = doctor(site.mount_file(server, BUCKET, write={"mode": "sequential"}))
    assert "skipped   late writes: not tested" in result.stdout, result.stdout


def test_a_usage_error_is_not_a_verdict(doctor):
    assert doctor("--no-such-option").returncode == 64


@pytest.mark.needs_root
def test_names_a_fuse_device_that_is_not_there(site, server, doctor):
    shell = ["unshare", "-m", *leaving_other_mounts("sh", "-c", 'mount -t tmpfs none /dev && exec "$@"', "sh")]
    assert_names(doctor(site.mount_file(server, BUCKET), before=shell, stdin=subprocess.DEVNULL), 2, "/dev/fuse")


def test_names_a_wrong_key_of_the_file(site, server, doctor):
    assert_names(doctor(site.mount_file(server, BUCKET, cache={"sise": "1GiB"})), 2, "mount file", "cache.sise")


def test_names_an_unknown_host(site, server, doctor):
    file = site.mount_file(server, BUCKET, endpoint={"url": "http://no-such-host.invalid:9000"})
    assert_names(doctor(file), 2, "DNS", "no-such-host.invalid")


def test_names_a_port_where_nothing_listens(site, server, doctor):
    with ReservedPort() as port:
        file = site.mount_file(server, BUCKET, endpoint={"url": f"http://127.0.0.1:{port.number}"})
        assert_names(doctor(file), 2, "TCP", "refused")


def test_names_a_wrong_secret(site, server, doctor):
    file = site.mount_file(server, BUCKET, credentials={"secret_access_key": "wrong" * 5})
    assert_names(doctor(file), 2, "credentials", "SignatureDoesNotMatch")


def test_names_a_bucket_that_is_not_there(site, server, doctor):
    assert_names(doctor(site.mount_file(server, "no-such-bucket")), 2, "bucket", "no-such-bucket")


@pytest.mark.parametrize(("mode", "status"), [("require", 2), ("prefer", 1)])
def test_names_a_server_without_rdma(site, doctor, mode, status):
    deaf = site.target("--shm-socket", "off")
    content.write(deaf.root / BUCKET / "object", 1, 50_000)
    result = doctor(site.mount_file(deaf, BUCKET, rdma={"mode": mode}))
    assert result.returncode == status, result.stdout
    assert any("RDMA fabric" in line for line in findings(result)), result.stdout


@pytest.mark.parametrize(("when", "check"), [("@get", "RDMA read"), ("@get@2+", "RDMA sizes and MTU")])
def test_names_wrong_bytes(site, doctor, when, check):
    corrupt = site.target("--fault", "corrupt" + when)
    (corrupt.root / BUCKET).mkdir(exist_ok=True)
    result = doctor(site.mount_file(corrupt, BUCKET, write={"mode": "sequential"}))
    assert_names(result, 2, check, "WRONG BYTES")


@pytest.mark.needs_root
def test_names_a_locked_memory_limit_that_is_too_small(site, server, doctor):
    limited = ["setpriv", "--bounding-set", "-ipc_lock", "prlimit", "--memlock=65536"]
    file = site.mount_file(server, BUCKET, cache={"lock": "require"})
    assert_names(doctor(file, before=limited), 2, "locked memory", "64KiB")


class WrongClock(BaseHTTPRequestHandler):
    def date_time_string(self, timestamp=None):
        return "Sat, 01 Jan 2000 00:00:00 GMT"

    def do_GET(self):
        self.send_response(403)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def scripted():
    made = ThreadingHTTPServer(("127.0.0.1", 0), WrongClock)
    thread = threading.Thread(target=made.serve_forever)
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


def test_names_a_clock_that_is_off(site, server, scripted, doctor):
    file = site.mount_file(server, BUCKET, endpoint={"url": f"http://127.0.0.1:{scripted.server_port}"})
    assert_names(doctor(file), 2, "clock skew")


@pytest.mark.needs("openssl")
def test_names_a_certificate_that_is_not_trusted(site, server, scripted, doctor, tmp_path):
    import ssl
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
                    "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", tmp_path / "key", "-out", tmp_path / "cert"],
                   check=True, stderr=subprocess.DEVNULL)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert", tmp_path / "key")
    scripted.socket = context.wrap_socket(scripted.socket, server_side=True)
    file = site.mount_file(server, BUCKET, endpoint={"url": f"https://127.0.0.1:{scripted.server_port}"})
    assert_names(doctor(file), 2, "TLS", "not trusted")
