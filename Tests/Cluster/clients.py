"""Apps that use the site during faults of its database, and their results."""

import collections
import re
import threading
import time

from fastcgi import Client
from phone import Phone

NUMBER = re.compile(r'"number (\d+)"')
LIMIT = 20  # seconds that a client waits; the web server waits 15


class Sight:
    """The results of all clients. Only right answers and 503 are allowed."""

    def __init__(self):
        self.lock, self.counts, self.wrong = threading.Lock(), collections.Counter(), []
        self.slowest = 0.0

    def send(self, client, method, path, body=None, token=None, right=(200,), **more):
        """Sends a request. Returns None after 503 and after a wrong answer, which is kept."""
        began = time.monotonic()
        try:
            answer = client.send(method, path, body, token, limit=LIMIT, **more)
        except OSError as error:
            return self.fault(f"{method} {path}: {error!r}")
        with self.lock:
            self.counts[answer.status] += 1
            self.slowest = max(self.slowest, time.monotonic() - began)
        if answer.status in right:
            return answer
        return None if answer.status == 503 else self.fault(f"{method} {path}: {answer.status} {answer.text[:200]}")

    def fault(self, sentence):
        with self.lock:
            self.wrong.append(f"{time.strftime('%H:%M:%S')} {sentence}")

    def count(self, word, number=1):
        with self.lock:
            self.counts[word] += number

    @property
    def answers(self):
        return sum(number for word, number in self.counts.items() if isinstance(word, int))


class Worker(threading.Thread):
    """Repeats `step` until it is told to end."""

    pause = 0.05

    def __init__(self, sockets, sight):
        super().__init__(daemon=True)
        self.sockets, self.sight, self.ended = sockets, sight, threading.Event()

    def run(self):
        while not self.ended.wait(self.pause):
            try:
                self.step()
            except Exception as error:  # noqa: BLE001: makes the test fail
                self.sight.fault(f"{type(self).__name__}: {error!r}")

    def stop(self):
        self.ended.set()
        self.join()


class Writer(Worker):
    """Changes its account's name to the next number, and reads the name: no read misses an acknowledged number, and no number
    is lost in the end."""

    count = 0

    def __init__(self, sockets, sight):
        super().__init__(sockets, sight)
        Writer.count += 1
        self.phone = Phone(Client(sockets), f"writer{Writer.count}")
        self.phone.sign_up()
        self.last = self.acknowledged = 0
        self.times = []  # the times of acknowledged writes

    def step(self):
        self.last += 1
        path, access = "/api/mobile/profile", self.phone.access
        if self.sight.send(self.phone.client, "PUT", path, {"name": f"number {self.last}"}, access):
            self.acknowledged = self.last
            self.times.append(time.monotonic())
            self.sight.count("acknowledged")
        self.look()

    def look(self, word="missed"):
        """Reads the number, and counts a number below the acknowledged one as `word`."""
        answer = self.sight.send(self.phone.client, "GET", "/api/mobile/profile", None, self.phone.access)
        if answer:
            number = int(found.group(1)) if (found := NUMBER.search(answer.text)) else 0
            if number < self.acknowledged:
                self.sight.count(word)
                self.sight.fault(f"{self.phone.name} reads {number} after {self.acknowledged} was acknowledged")
        return answer
