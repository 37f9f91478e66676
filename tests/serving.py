"""Storage on loopback that answers every request alike, as one does whose credentials or certificate are wrong."""

from __future__ import annotations

import ipaddress
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class _Server(ThreadingHTTPServer):
    """What a client breaks off, such as a handshake with a certificate that it does not trust, is not printed."""

    def handle_error(self, request: object, client_address: object) -> None:
        """Nothing: the client says what it met."""


@contextmanager
def answering(status: int, body: str, tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """A server. Gives its host and port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = body.encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_args: object) -> None:
            pass

    server = _Server(("127.0.0.1", 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    try:
        yield f"127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        serving.join()
        server.server_close()


def certified(folder: Path) -> ssl.SSLContext:
    """TLS with a certificate that is signed by itself alone."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "storage on loopback")])
    places = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    now = datetime.now(UTC)
    unsigned = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    unsigned = unsigned.serial_number(x509.random_serial_number()).add_extension(places, critical=False)
    unsigned = unsigned.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file = folder / "server.pem"
    file.write_bytes(private + unsigned.sign(key, hashes.SHA256()).public_bytes(pem))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context
