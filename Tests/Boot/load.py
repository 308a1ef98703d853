"""Clients that use the site during a change."""

import itertools
import threading
import time

from phone import Client, Phone
from waiting import wait

CLIENTS = 8


class Load:
    """Signed-in phones that send requests in sequence, each on its own connection, until `stop`."""

    def __init__(self, authority):
        self.phones = [Phone(Client(authority, f"127.0.1.{number}"), f"load{number}") for number in range(1, CLIENTS + 1)]
        for phone in self.phones:
            phone.sign_up()
        self.authority, self.ended = authority, threading.Event()
        self.answers = []  # (client, seconds, error or None), in order

    def __enter__(self):
        self.ended.clear()
        self.answers = []
        self.threads = [threading.Thread(target=self._use, args=(number, phone), daemon=True)
                        for number, phone in enumerate(self.phones)]
        for thread in self.threads:
            thread.start()
        self.wait_for(100)
        return self

    def __exit__(self, *error):
        self.ended.set()
        for thread in self.threads:
            thread.join()

    def wait_for(self, count):
        """Waits for `count` more answers."""
        wanted = len(self.answers) + count
        wait(f"{wanted} answers", lambda: len(self.answers) >= wanted)

    @property
    def failures(self):
        return [failure for _, _, failure in self.answers if failure]

    @property
    def slowest(self):
        return max(seconds for _, seconds, _ in self.answers)

    def _use(self, number, phone):
        # An address may register a device 60 times an hour, so each registration uses another address.
        addresses = (f"127.{1 + number}.{count // 250}.{1 + count % 250}" for count in itertools.count())

        def register():
            body = {**phone.device, "deviceId": f"{phone.device['deviceId']}-x"}
            return Client(self.authority, next(addresses)).send("POST", "/api/mobile/device/register", body)

        requests = [
            ("health", lambda: phone.client.send("GET", "/health")),
            ("summary", phone.summary),
            ("register", register),
            ("profile", lambda: phone.send("PUT", "profile", {"name": phone.name})),
            ("devices", lambda: phone.send("GET", "devices")),
        ]
        for name, request in itertools.cycle(requests):
            if self.ended.is_set():
                return
            began = time.monotonic()
            try:
                answer = request()
                failure = None if answer.status == 200 else f"{name}: status {answer.status} {answer.text[:150]}"
            except OSError as error:  # refused, reset, timed out
                failure = f"{name}: {error!r}"
            except Exception as error:  # not HTTP
                failure = f"{name}: {error!r}"
            self.answers.append((number, time.monotonic() - began, failure))
