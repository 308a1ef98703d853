"""Three nodes, six responders and three companions, while nodes are killed, frozen and cut off."""

import concurrent.futures
import itertools
import random
import time

from clients import Sight, Worker, Writer
from fastcgi import Client
from node import GaleraNode, start_galera, wait
from phone import Phone
from programs import DATABASE, Site
from proxy import Proxy
from turns import Player, Services

INTERVAL, OUTAGE = 30, 12  # seconds between faults, and seconds of each outage
AFTERWARDS = 2  # seconds of watching after a node is back
WRITERS, PLAYERS = 4, 3


def _start_anew(node):
    node.lose_data()
    node.start()


# The beginning and the end of each fault. A killed node that has lost its data is copied from another node.
FAULTS = {
    "lost": (GaleraNode.kill, _start_anew), "killed": (GaleraNode.kill, GaleraNode.start),
    "frozen": (GaleraNode.freeze, GaleraNode.thaw), "cut off": (GaleraNode.cut_off, GaleraNode.reconnect)}


class Guest(Worker):
    """Signs up, signs out, and comes back with the token, which must be revoked."""

    pause = 0.3
    count = 0

    def step(self):
        Guest.count += 1
        phone = Phone(Client(self.sockets), f"guest{Guest.count}")
        body = {"email": phone.email, "name": phone.name, **phone.device}
        made = self.sight.send(phone.client, "POST", "/api/mobile/auth/register", body, right=(201,))
        if not made:
            return
        access = made["tokens"]["accessToken"]
        if not self.sight.send(phone.client, "POST", "/api/mobile/auth/logout", None, access):
            return
        self.sight.count("sign-outs")
        for _ in self.sockets:
            back = self.sight.send(phone.client, "GET", "/api/mobile/profile", None, access, right=(200, 401))
            if back and back.status == 200:
                self.sight.count("let in")
                self.sight.fault(f"{phone.name} is let in after the sign-out")


class Spender(Worker):
    """Makes a pairing token, and uses it on two responders at the same time."""

    pause = 0.3

    def step(self):
        made = self.sight.send(Client(self.sockets, "127.0.0.1"), "POST", "/api/pair/refresh")
        if not made:
            return
        body = {"pairing_token": made["token"]}
        clients = [Client([path]) for path in random.sample(self.sockets, 2)]
        with concurrent.futures.ThreadPoolExecutor(2) as threads:
            answers = list(threads.map(
                lambda client: self.sight.send(client, "POST", "/api/auth/exchange", body, right=(200, 401)), clients))
        self.sight.count("one-time values")
        if sum(answer is not None and answer.status == 200 for answer in answers) > 1:
            self.sight.count("spent twice")
            self.sight.fault("a pairing token was spent twice")


class Storm:
    """A cluster and its site. With `proxy`, the programs know only HAProxy; otherwise they know the three nodes."""

    def __init__(self, folder, binaries, has_proxy):
        self.nodes = start_galera(folder, 3)
        self.proxy = Proxy(folder, self.nodes) if has_proxy else None
        self.site = Site(folder, binaries, self.nodes[0])
        for node in self.nodes[1:]:
            node.catch_up(DATABASE)
        self.hosts = hosts = self.proxy.address if self.proxy else ",".join(node.address for node in self.nodes)
        self.services = Services(self.site)
        companions = [
            self.site.accompany(f"companion{number}", hosts, **self.services.environment) for number in (1, 2, 3)]
        responders = [
            self.site.respond(f"responder{number}", hosts, SWITCHBOARD_WAKE_SOCKET=str(companions[number % 3].path))
            for number in range(1, 7)]
        self.site.wait_until_healthy()
        self.sight = Sight()
        sockets = [responder.path for responder in responders]
        self.writers = [Writer(sockets, self.sight) for _ in range(WRITERS)]
        master_key = self.site.keys["MASTER_API_KEY"]
        self.players = [Player(sockets, self.sight, self.services, master_key) for _ in range(PLAYERS)]
        self.pauses = []  # per fault: name, seconds without a write during the outage and the return
        self.workers = [*self.writers, *self.players, Guest(sockets, self.sight), Spender(sockets, self.sight)]

    def stop(self):
        self.site.stop()
        if self.proxy:
            self.proxy.stop()
        for node in self.nodes:
            node.stop()

    def faults(self, minutes):
        """Breaks one node after the other, the written node first. Returns the number of each fault."""
        done = dict.fromkeys(FAULTS, 0)
        ends = time.monotonic() + minutes * 60
        for number, (node, name) in enumerate(itertools.cycle(itertools.product(self.nodes, FAULTS))):
            began = time.monotonic()
            if number and began + OUTAGE > ends:
                return done
            self.put_out_of_order(node, name)
            done[name] += 1
            time.sleep(max(0, began + INTERVAL - time.monotonic()))

    def put_out_of_order(self, node, name):
        """Breaks a node for some time, and waits until it is back."""
        begin, end = FAULTS[name]
        began, unavailable = time.monotonic(), self.sight.counts[503]
        begin(node)
        time.sleep(OUTAGE)
        ended = time.monotonic()
        end(node)
        wait(f"{node.name} is back", node.is_synced, 120)
        back = time.monotonic()
        time.sleep(AFTERWARDS)
        away, returning = self.longest_pause(began, ended), self.longest_pause(ended, back + AFTERWARDS)
        self.pauses.append((name, away, returning))
        print(f"  {node.name} {name:8} back after {back - began:5.1f} s, {self.sight.counts[503] - unavailable:4} answers 503, "
              f"no write for {away:.1f} s while it was away, for {returning:.1f} s while it came back", flush=True)

    def longest_pause(self, begin, end):
        """The longest time, in seconds, without an acknowledged write."""
        times = sorted(moment for writer in self.writers for moment in list(writer.times) if begin < moment < end)
        return max(later - earlier for earlier, later in itertools.pairwise([begin, *times, end]))

    def check(self):
        """The output of `switchboard check`."""
        return self.site.command("check", hosts=self.hosts, must_succeed=False)

    def try_check(self):
        """Checks that `check` finds a node whose statements do not wait."""
        said = self.check()
        assert self.proxy or said.count("Galera node 127.0.0.1:") == len(self.nodes), said
        assert "statements wait for what others have written" in said, said
        for node in self.nodes[:1] if self.proxy else self.nodes[1:]:
            node.run("SET GLOBAL wsrep_sync_wait = 1")
            assert "a statement may miss what another node has written" in (said := self.check()), said
            node.run("SET GLOBAL wsrep_sync_wait = 7")

    def run(self, minutes, longest_pause):
        """- longest_pause: the longest allowed time without writes, in seconds, while a killed node comes back."""
        self.try_check()
        for worker in self.workers:
            worker.start()
        done = self.faults(minutes)
        for worker in self.workers:
            worker.stop()
        wait("all is well", lambda: all(writer.look("lost") for writer in self.writers))
        self.report(done)
        slow = [pause for pause in self.pauses if pause[0] in ("lost", "killed") and pause[2] > longest_pause]
        assert not slow, f"nobody could write for longer than {longest_pause} s while a killed node came back: {slow}"

    def report(self, done):
        counts, told = self.sight.counts, self.services.told()
        twice = sum(len(ids) > 1 for ids in told.values())
        for name, value in {
                "faults": ", ".join(f"{number} {name}" for name, number in done.items()),
                "requests": self.sight.answers, "answers 503": counts[503],
                "slowest answer, s": f"{self.sight.slowest:.1f}",
                "longest time without a write, s": f"{max(pause[1] for pause in self.pauses):.1f}",
                "the same while a node came back, s": f"{max(pause[2] for pause in self.pauses):.1f}",
                "writes acknowledged": counts["acknowledged"], "of them lost": counts["lost"],
                "reads that missed one": counts["missed"],
                "one-time values": counts["one-time values"], "of them spent twice": counts["spent twice"],
                "sign-outs": counts["sign-outs"], "let in after one": counts["let in"],
                "turns": len(told), "of them shown twice": twice,
                "slowest turn, s": f"{max(player.slowest for player in self.players):.0f}"}.items():
            print(f"| {name} | {value} |", flush=True)
        assert not twice, f"phones show {twice} turns twice"
        assert not self.sight.wrong, "\n".join(self.sight.wrong)


def main(folder, binaries, minutes, longest_pause):
    """The programs know all nodes in the first half of the time, and HAProxy in the other half."""
    for name, has_proxy in (("SWITCHBOARD_DB_HOST names three nodes", False), ("HAProxy chooses the node", True)):
        place = folder / ("proxy" if has_proxy else "list")
        place.mkdir(mode=0o711)
        print(f"{name}:", flush=True)
        storm = Storm(place, binaries, has_proxy)
        try:
            storm.run(minutes / 2, longest_pause)
        finally:
            storm.stop()
