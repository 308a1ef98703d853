"""Turns at online-go.com that become notifications: each turn is announced, and no phone shows it twice."""

import json
import pathlib
import re
import subprocess
import time

from clients import Worker
from fastcgi import Client
from node import wait

LIMIT = 400  # seconds: a pass that a fault ends holds its users for two minutes, and so may the next
GAME = re.compile(r"Turn \d+ of \d+")


class Services:
    """The fakes of online-go.com and of Apple, and the companion's settings for them."""

    def __init__(self, site):
        key = site.folder / "apns-key"
        subprocess.run(["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", key],
                       check=True, stderr=subprocess.DEVNULL)
        public = site.folder / "apns-key.pem"
        subprocess.run(["openssl", "pkey", "-in", key, "-pubout", "-out", public], check=True)
        self.games = site.fake("ogs", "--requests-per-second", "200")
        self.apple = site.fake("apns", "--public-key", public)
        self.environment = {
            "APNS_KEY_ID": "KEY1234567", "APNS_TEAM_ID": "TEAM123456", "APNS_BUNDLE_ID": "com.example.switchboard",
            "APNS_PRIVATE_KEY_FILE": str(key), "APNS_CA_CERT": str(self.apple / "certificate.pem"),
            "APNS_ENDPOINT_OVERRIDE": f"https://localhost:{(self.apple / 'port').read_text().strip()}",
            "SWITCHBOARD_SUBSTITUTES": f"ogs=http://127.0.0.1:{(self.games / 'port').read_text().strip()}",
            "OGS_REQUESTS_PER_SECOND": "100", "CHECK_INTERVAL_SECONDS": "2"}

    def told(self):
        """The collapse ids for each phone and game: a phone shows one notification per collapse id."""
        shown = {}
        for line in (self.apple / "received.jsonl").read_text().splitlines():
            push = json.loads(line)
            for game in set(GAME.findall(push["payload"])) if push["status"] == 200 else ():
                shown.setdefault((push["token"], game), set()).add(push["collapseID"])
        return shown


class Player(Worker):
    """A user with the turn in one new game after the other. Each turn must be announced before the next game begins."""

    count = 0

    def __init__(self, sockets, sight, services, master_key):
        super().__init__(sockets, sight)
        Player.count += 1
        self.number, self.user, self.services = Player.count, 7000 + Player.count, services
        self.folder = services.games / str(self.user)
        self.folder.mkdir()
        self.token = f"{self.number:064x}"
        self.turns, self.slowest = 0, 0.0
        self._register(master_key)

    def _register(self, master_key):
        client = Client(self.sockets)
        key = client.send("POST", "/generate-api-key", {"user_id": str(self.user), "master_key": master_key})
        body = {"user_id": str(self.user), "device_token": self.token}
        client.send("POST", "/register", body, x_api_key=key.expect(200)["api_key"]).expect(200)

    def step(self):
        self.turns += 1
        name = f"Turn {self.turns} of {self.user}"
        game = pathlib.Path(self.folder / f"{self.number * 100000 + self.turns}")
        part = self.folder / "part"
        began = time.monotonic()
        part.write_text(f"mine {name}\n")
        part.rename(game)
        wait(f"{name} is told", lambda: (self.token, name) in self.services.told(), LIMIT)
        self.slowest = max(self.slowest, time.monotonic() - began)
        game.unlink()
        self.ended.wait(1)
