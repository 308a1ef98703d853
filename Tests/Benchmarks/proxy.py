"""A TCP proxy that counts the bytes that it passes on."""

import socket
import threading


class Proxy:
    """Passes connections to a free port of 127.0.0.1 on to `target`, a port of 127.0.0.1."""

    def __init__(self, target):
        self.target, self.bytes = target, 0
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        self.lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            threading.Thread(target=self._serve, args=(self.listener.accept()[0],), daemon=True).start()

    def _serve(self, client):
        server = socket.create_connection(("127.0.0.1", self.target))
        for pair in ((client, server), (server, client)):
            threading.Thread(target=self._copy, args=pair, daemon=True).start()

    def _copy(self, source, sink):
        try:
            while data := source.recv(65_536):
                with self.lock:
                    self.bytes += len(data)
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # the other side has closed the connection
