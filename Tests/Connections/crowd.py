"""Clients of one address that open connections and never send a whole head."""

import ctypes
import multiprocessing
import select
import signal
import socket
import time

from network import connect

BEGINNING = b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-A: "
PAUSE = 2  # seconds between two octets
OF_PROCESS = 8000  # sockets of a process


class Crowd:
    """Clients in several processes, because a process may have a limited number of sockets. Uses this thread's network."""

    def __init__(self, count, client, site, port):
        shares = [len(range(start, count, -(-count // OF_PROCESS))) for start in range(-(-count // OF_PROCESS))]
        self._counts = [multiprocessing.Array("q", 3, lock=False) for _ in shares]
        self._processes = [
            multiprocessing.Process(target=_run, args=(share, counts, (client, site, port)), daemon=True)
            for share, counts in zip(shares, self._counts)]

    def start(self):
        for process in self._processes:
            process.start()

    def end(self):
        for process in self._processes:
            if process.is_alive():
                process.kill()
                process.join()

    @property
    def tried(self):
        return sum(counts[0] for counts in self._counts)

    @property
    def refused(self):
        return sum(counts[1] for counts in self._counts)

    @property
    def closed(self):
        """How many connections the site has closed."""
        return sum(counts[2] for counts in self._counts)


def _run(count, counts, target):
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    _Clients(count, counts, target).run()


class _Clients:
    """Opens a connection again that was refused or closed."""

    def __init__(self, count, counts, target):
        self._count, self._counts, self._target_of = count, counts, target
        self._sockets = {}  # by descriptor: the socket, and the time of its next octet; None while it connects
        self._poll = select.epoll()

    def run(self):
        lost = self._count
        while True:
            # Not all at once, so that refused ones do not take the whole processor.
            for _ in range(min(lost, 500)):
                self._begin()
                lost -= 1
            for descriptor, event in self._poll.poll(0.1):
                lost += self._advance(descriptor, event)
            now = time.monotonic()
            for descriptor, (one, next_octet) in list(self._sockets.items()):
                if next_octet is not None and next_octet <= now:
                    self._sockets[descriptor] = (one, now + PAUSE)
                    _send(one, b"a")

    def _begin(self):
        one = connect(*self._target_of)
        self._counts[0] += 1
        self._sockets[one.fileno()] = (one, None)
        self._poll.register(one, select.EPOLLOUT | select.EPOLLIN)

    def _advance(self, descriptor, event):
        """Returns how many connections were lost."""
        one, next_octet = self._sockets[descriptor]
        if next_octet is None and not event & (select.EPOLLERR | select.EPOLLHUP):
            self._sockets[descriptor] = (one, time.monotonic() + PAUSE)
            self._poll.modify(one, select.EPOLLIN)
            _send(one, BEGINNING)
            return 0
        if next_octet is not None and not _is_closed(one):
            return 0
        if next_octet is None:
            self._counts[1] += 1
        else:
            self._counts[2] += 1
        del self._sockets[descriptor]
        one.close()
        return 1


def _send(one, octets):
    try:
        one.send(octets, socket.MSG_NOSIGNAL)
    except OSError:
        pass  # the next poll tells


def _is_closed(one):
    try:
        return one.recv(4096) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True
