"""HAProxy with the shipped configuration, in front of three servers that go and come back."""

import contextlib
import socket
import subprocess
import threading

from node import free_port, wait
from proxy import write_configuration


class Server:
    """Says its number to each connection, and keeps it open. Its check answers as `is_up` says."""

    def __init__(self, number):
        self.number, self.is_up = number, True
        self.port, self.check = free_port(), free_port()
        for port, serve in ((self.port, self._serve), (self.check, self._answer)):
            listener = socket.create_server(("127.0.0.1", port))
            threading.Thread(target=self._accept, args=(listener, serve), daemon=True).start()

    @staticmethod
    def _accept(listener, serve):
        while True:
            threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

    def _serve(self, wire):
        with wire, contextlib.suppress(OSError):  # HAProxy ends it
            wire.sendall(str(self.number).encode())
            wire.recv(1)

    def _answer(self, wire):
        with wire:
            wire.recv(1000)
            wire.sendall(f"HTTP/1.0 {200 if self.is_up else 503} x\r\nContent-Length: 0\r\n\r\n".encode())


def main(folder):
    """Fails if a connection to a server stays open when an earlier one is back: the next ones go to that."""
    servers = [Server(number) for number in (1, 2, 3)]
    port = free_port()
    file = folder / "chain.cfg"
    write_configuration(
        file, f"127.0.0.1:{port}", [(f"127.0.0.1:{server.port}", server.check) for server in servers])
    proxy = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "haproxy", "-db", "-f", file],
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def connect():
        try:
            wire = socket.create_connection(("127.0.0.1", port), timeout=30)
            number = wire.recv(1)
        except OSError:
            return None, ""
        return wire, number.decode()

    def leads_to(number):
        wire, answer = connect()
        if wire:
            wire.close()
        return answer == str(number)

    try:
        first, second, _ = servers
        wait("the first server", lambda: leads_to(1))
        first.is_up = False
        wait("the second server", lambda: leads_to(2))
        second.is_up = False
        wait("the third server", lambda: leads_to(3))
        for server in (second, first):
            kept, number = connect()
            server.is_up = True
            assert kept.recv(1) == b"", f"a connection to server {number} stays open"  # after 30 s: TimeoutError
            wait(f"server {server.number} again", lambda: leads_to(server.number))
        print("HAProxy: when an earlier server is back, connections to the later ones end")
    finally:
        proxy.kill()
        proxy.wait()
