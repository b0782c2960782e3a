# SPDX-License-Identifier: Apache-2.0
"""Stations between a mount and its server: one that speaks TLS, and an HTTP proxy. Each runs on 127.0.0.1 until stopped."""

import select
import socket
import ssl
import subprocess
import threading
from urllib.parse import urlsplit


class _Gateway:
    """Serves each connection on a thread; `connections` counts them."""

    def __init__(self, port=0):
        self.connections = 0
        self._open = set()
        self._listener = socket.create_server(("127.0.0.1", port))
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def stop(self):
        """Ends it and its connections."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join(10)
        self._listener.close()
        for one in list(self._open):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # it has ended by itself

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._open.add(client)
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        try:
            self.serve(client)
        except OSError:
            pass  # one of the two ends has hung up
        finally:
            self._open.discard(client)
            client.close()


def _join(client, host, port, first=b""):
    """Carries bytes both ways until one end hangs up."""
    with socket.create_connection((host, port), timeout=20) as server:
        server.settimeout(None)
        server.sendall(first)
        while True:
            # Bytes that TLS has decrypted already do not wake select(2).
            waits = getattr(client, "pending", lambda: 0)()
            ready = [client] if waits else select.select([client, server], [], [])[0]
            for source, sink in ((client, server), (server, client)):
                if source in ready:
                    data = source.recv(1 << 18)
                    if not data:
                        return
                    sink.sendall(data)


class TlsGateway(_Gateway):
    """Speaks TLS for a server on this host. `clients`: the certificates of clients that it lets in; None: anyone."""

    def __init__(self, server, certificate, clients=None, newest=ssl.TLSVersion.TLSv1_3, port=0):
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate.file, certificate.key)
        self._context.maximum_version = newest
        if clients:
            self._context.verify_mode = ssl.CERT_REQUIRED
            self._context.load_verify_locations(clients.file)
        self._server_port = server.port
        super().__init__(port)

    @property
    def endpoint(self):
        return f"https://127.0.0.1:{self.port}"

    def serve(self, client):
        with self._context.wrap_socket(client, server_side=True) as secured:
            _join(secured, "127.0.0.1", self._server_port)


class Proxy(_Gateway):
    """Forwards requests for http:// one by one, and tunnels those for https:// (RFC 9110 sections 7.1 and 9.3.6)."""

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def serve(self, client):
        head = b""
        while b"\r\n\r\n" not in head:
            data = client.recv(1 << 16)
            if not data:
                return
            head += data
        method, target, rest = head.split(b" ", 2)
        if method == b"CONNECT":
            host, port = target.decode().rsplit(":", 1)
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            _join(client, host, int(port))
            return
        address = urlsplit(target.decode())
        path = target.split(address.netloc.encode(), 1)[1] or b"/"
        # One request a connection: the next one may be for another server.
        head = b" ".join((method, path, rest.replace(b"\r\n", b"\r\nConnection: close\r\n", 1)))
        _join(client, address.hostname, address.port or 80, head)


class Certificate:
    """A certificate for 127.0.0.1 that signs itself, with its key."""

    def __init__(self, folder, name):
        self.file, self.key = folder / f"{name}.pem", folder / f"{name}.key"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-days", "2", "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1",
                        "-keyout", self.key, "-out", self.file], check=True, stderr=subprocess.DEVNULL)
        self.key.chmod(0o600)
