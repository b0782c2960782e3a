# SPDX-License-Identifier: Apache-2.0
"""Certificates, versions of TLS and proxies, between a mount and a server that it reaches by a station of the test."""

import os
import ssl
import subprocess

import pytest
from harness import content
from harness.gateways import Certificate, Proxy, TlsGateway
from harness.mount import MountFailed, total
from harness.writing import MIB

pytestmark = [pytest.mark.needs_fuse, pytest.mark.needs("openssl")]

BUCKET = "guarded"
OPEN_EACH_TIME = {"ttl": "0s"}


@pytest.fixture(scope="module")
def server(shared_site):
    made = shared_site.target(bucket=BUCKET)
    content.write(made.root / BUCKET / "large", 1, 20 * MIB)
    return made


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates")
    return {name: Certificate(folder, name) for name in ("server", "client", "other")}


@pytest.fixture
def gateway(server, certificates):
    """Makes stations; ends them."""
    made = []

    def make(kind=TlsGateway, **options):
        made.append(kind(server, certificates["server"], **options) if kind is TlsGateway else kind())
        return made[-1]
    yield make
    for one in made:
        one.stop()


@pytest.fixture(autouse=True)
def no_proxy_around(monkeypatch):
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


def endpoint(station, certificates, **keys):
    return {"url": station.endpoint, "ca_file": str(certificates["server"].file), **keys}


def shows(certificate):
    return {"client_certificate": str(certificate.file), "client_key": str(certificate.key)}


def read_and_write(mounted, server, name):
    assert not content.difference((mounted / "large").read_bytes(), 1, 0, 20 * MIB)
    content.write(mounted.point / name, 2, 9 * MIB)
    assert not content.difference((server.root / BUCKET / name).read_bytes(), 2, 0, 9 * MIB)


WRITING = {"mode": "sequential", "buffer_size": "64MiB"}


def test_a_mount_reads_and_writes_over_tls_and_by_rdma(site, server, certificates, gateway):
    station = gateway()
    mounted = site.mount(server, BUCKET, write=WRITING, endpoint=endpoint(station, certificates),
                         rdma={"mode": "require", "fabric": "shm", "shm_socket": f"@s3rdma-target-{server.port}"})
    read_and_write(mounted, server, "over-tls")
    assert station.connections > 0
    assert total(mounted.stats(), "get_bytes_total", 'path="http"') == 0


def test_a_server_that_asks_for_a_certificate_gets_the_one_of_the_mount_file(site, server, certificates, gateway):
    station = gateway(clients=certificates["client"])
    for wrong in ({}, shows(certificates["other"])):
        with pytest.raises(MountFailed, match="client_certificate"):
            site.mount(server, BUCKET, endpoint=endpoint(station, certificates, **wrong))
    good = endpoint(station, certificates, **shows(certificates["client"]))
    read_and_write(site.mount(server, BUCKET, write=WRITING, endpoint=good), server, "with-certificate")


def test_one_file_may_have_certificate_and_key(site, server, certificates, gateway, tmp_path):
    station = gateway(clients=certificates["client"])
    both = tmp_path / "both.pem"
    both.write_bytes(certificates["client"].file.read_bytes() + certificates["client"].key.read_bytes())
    mounted = site.mount(server, BUCKET, endpoint=endpoint(station, certificates, client_certificate=str(both)))
    assert not content.difference((mounted / "large").read_bytes(), 1, 0, 20 * MIB)


def test_a_certificate_that_is_renewed_on_disk_needs_no_remount(site, server, certificates, gateway, tmp_path):
    station = gateway(clients=certificates["client"])
    file, key = tmp_path / "mine.pem", tmp_path / "mine.key"

    def renew(certificate):
        for place, source in ((file, certificate.file), (key, certificate.key)):
            place.with_suffix(".new").write_bytes(source.read_bytes())
            place.with_suffix(".new").rename(place)
    renew(certificates["client"])
    mounted = site.mount(server, BUCKET, metadata=OPEN_EACH_TIME, endpoint=endpoint(
        station, certificates, client_certificate=str(file), client_key=str(key)))
    assert (mounted / "large").stat().st_size == 20 * MIB
    station.stop()
    renew(certificates["other"])
    again = TlsGateway(server, certificates["server"], clients=certificates["other"], port=station.port)
    station.stop = again.stop  # the one that the fixture ends
    assert not content.difference((mounted / "large").read_bytes(), 1, 0, 20 * MIB)


@pytest.mark.parametrize("passphrase", ["", "of the key"], ids=["damaged", "with_a_passphrase"])
def test_a_key_that_cannot_be_used_is_named(site, server, certificates, gateway, tmp_path, passphrase):
    station = gateway(clients=certificates["client"])
    key = tmp_path / "key"
    if passphrase:
        subprocess.run(["openssl", "ec", "-aes128", "-passout", f"pass:{passphrase}", "-in", certificates["client"].key,
                        "-out", key], check=True, stderr=subprocess.DEVNULL)
    else:
        key.write_text("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")
    with pytest.raises(MountFailed, match="need no passphrase"):
        site.mount(server, BUCKET, endpoint=endpoint(
            station, certificates, client_certificate=str(certificates["client"].file), client_key=str(key)))


def test_a_version_of_tls_that_is_too_old_is_refused(site, server, certificates, gateway):
    station = gateway(newest=ssl.TLSVersion.TLSv1_2)
    with pytest.raises(MountFailed, match="tls_min"):
        site.mount(server, BUCKET, endpoint=endpoint(station, certificates, tls_min="1.3"))
    mounted = site.mount(server, BUCKET, endpoint=endpoint(station, certificates))  # the control
    assert (mounted / "large").stat().st_size == 20 * MIB


def test_the_proxy_of_the_mount_file_is_taken_whatever_the_environment_says(site, server, certificates, gateway, monkeypatch):
    proxy, station = gateway(Proxy), gateway()
    monkeypatch.setenv("no_proxy", "*")
    mounted = site.mount(server, BUCKET, write=WRITING, endpoint={"proxy": proxy.url})
    read_and_write(mounted, server, "by-proxy")
    by_http = proxy.connections
    assert by_http >= 3
    mounted = site.mount(server, BUCKET, write=WRITING, endpoint=endpoint(station, certificates, proxy=proxy.url))
    read_and_write(mounted, server, "by-tunnel")
    assert 0 < station.connections <= proxy.connections - by_http


def test_a_proxy_of_the_environment_never_serves_this_host(site, server, gateway, monkeypatch):
    proxy = gateway(Proxy)
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, proxy.url)
    for choice in ("auto", "none"):
        mounted = site.mount(server, BUCKET, endpoint={"proxy": choice})
        assert (mounted / "large").stat().st_size == 20 * MIB
    assert proxy.connections == 0


def test_doctor_looks_at_the_proxy_where_there_is_one(site, server, gateway):
    proxy = gateway(Proxy)
    url = "http://s3.invalid:9000"  # a name that only the proxy would know
    file = site.mount_file(server, BUCKET, endpoint={"url": url, "proxy": proxy.url})
    text = subprocess.run([site.s3rdmafs, "doctor", file], capture_output=True, text=True, timeout=60).stdout
    assert f"127.0.0.1 port {proxy.port} accepts connections" in text
