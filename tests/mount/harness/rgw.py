# SPDX-License-Identifier: Apache-2.0
"""Ceph's S3 gateway on loopback: an S3 server of other authors.

One monitor, one object store that keeps everything in memory, one gateway; all of them children of this
process, all their files in one folder. Ready in about 15 s. It speaks no RDMA.
"""

import contextlib
import http.client
import subprocess
import uuid

from .processes import ReservedPort, eventually, is_listening, stop

PROGRAMS = ("ceph-mon", "ceph-osd", "radosgw", "radosgw-admin", "ceph", "ceph-authtool", "monmaptool")
STORE_BYTES = 2 << 30  # an upper bound; memory is used as objects come

# One of everything, unreplicated, no placement to wait for: a cluster for a minute, not for data.
CONFIGURATION = """
[global]
fsid = {fsid}
mon host = {monitor}
keyring = {folder}/keyring
auth cluster required = cephx
auth service required = cephx
auth client required = cephx
public addr = 127.0.0.1
cluster addr = 127.0.0.1
ms bind ipv6 = false
run dir = {folder}
admin socket = {folder}/$name.$pid.asok
log file = {folder}/$name.log
mon allow pool size one = true
mon max pg per osd = 1000
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 4
osd pool default pgp num = 4
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
osd class update on start = false
osd objectstore = memstore
memstore device bytes = {store_bytes}
[mon.a]
mon data = {folder}/mon
[osd.0]
osd data = {folder}/osd
[client.rgw]
rgw data = {folder}/rgw
rgw frontends = beast endpoint=127.0.0.1:{port}
"""


class Rgw:
    """A running gateway with one user."""

    access_key = "TESTACCESSKEY"
    secret_key = "testsecretkey"

    def __init__(self, folder):
        self.folder = folder
        self._ports = [ReservedPort() for _ in range(3)]
        self.port = self._ports[0].number
        self._daemons = []
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    @property
    def endpoint(self):
        return f"http://127.0.0.1:{self.port}"

    def stop(self):
        for daemon in reversed(self._daemons):
            stop(daemon)
        for port in self._ports:
            port.end()

    def _run(self, *command):
        result = subprocess.run(command, check=False, timeout=60, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert result.returncode == 0, f"{command}: {result.stdout[-2000:]}"

    def _daemon(self, *command):
        with open(self.folder / "daemons.log", "ab") as log:
            self._daemons.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log))

    def _start(self):
        for name in ("mon", "osd", "rgw"):
            (self.folder / name).mkdir(parents=True)
        conf, keyring, map_file = (self.folder / name for name in ("ceph.conf", "keyring", "monmap"))
        fsid, osd_uuid = str(uuid.uuid4()), str(uuid.uuid4())
        monitor = "[v2:127.0.0.1:{},v1:127.0.0.1:{}]".format(*(port.number for port in self._ports[1:]))
        conf.write_text(CONFIGURATION.format(fsid=fsid, monitor=monitor, folder=self.folder,
                                             port=self.port, store_bytes=STORE_BYTES))

        everything = ("--cap", "mon", "allow *", "--cap", "osd", "allow *", "--cap", "mgr", "allow *")
        self._run("ceph-authtool", "--create-keyring", keyring, "--gen-key", "-n", "mon.",
                  "--cap", "mon", "allow *")
        self._run("ceph-authtool", keyring, "--gen-key", "-n", "client.admin", *everything)
        self._run("ceph-authtool", keyring, "--gen-key", "-n", "client.rgw", *everything)
        self._run("ceph-authtool", keyring, "--gen-key", "-n", "osd.0",
                  "--cap", "mon", "allow profile osd", "--cap", "osd", "allow *")
        self._run("monmaptool", "--create", "--addv", "a", monitor, "--fsid", fsid, map_file)
        self._run("ceph-mon", "--mkfs", "-i", "a", "--monmap", map_file, "--keyring", keyring, "-c", conf)

        self._daemon("ceph-mon", "-f", "-i", "a", "-c", conf)
        self._run("ceph", "-c", conf, "osd", "new", osd_uuid)
        self._run("ceph", "-c", conf, "auth", "import", "-i", keyring)
        self._run("ceph-osd", "-i", "0", "--mkfs", "--osd-uuid", osd_uuid, "-c", conf)
        self._daemon("ceph-osd", "-f", "-i", "0", "-c", conf)
        self._daemon("radosgw", "-f", "-n", "client.rgw", "-c", conf)
        eventually(self._answers, 90, "the gateway answers")
        self._run("radosgw-admin", "-c", conf, "-n", "client.rgw", "user", "create", "--uid=test",
                  "--display-name=test", f"--access-key={self.access_key}", f"--secret-key={self.secret_key}")

    def _answers(self):
        for daemon in self._daemons:
            assert daemon.poll() is None, f"{daemon.args[0]} ended:\n{(self.folder / 'daemons.log').read_text()[-2000:]}"
        if not is_listening(self.port):
            return False
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)) as connection:
            connection.request("GET", "/")
            return connection.getresponse().status == 200
