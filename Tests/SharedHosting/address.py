"""Connects the site's own address to the host's Apache, like DNS and port 443 of a real host."""

import socket
import socketserver
import threading


class Proxy:
    """Accepts CONNECT (RFC 9110 §9.3.6) to any target, and connects to `port` of this machine."""

    def __init__(self, port):
        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                while self.rfile.readline().strip():
                    pass  # the request's lines
                with socket.create_connection(("127.0.0.1", port)) as apache:
                    self.wfile.write(b"HTTP/1.1 200 connected\r\n\r\n")
                    back = threading.Thread(target=_copy, args=(apache, self.connection), daemon=True)
                    back.start()
                    _copy(self.connection, apache)
                    back.join()

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True

        self.server = Server(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def _copy(source, target):
    """Copies until either side ends."""
    try:
        while part := source.recv(65536):
            target.sendall(part)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass
