"""One-time values, each asked for on two nodes at the same moment, over connections that have prepared nothing."""

import concurrent.futures
import functools
import random
import re
import threading
import time

import raw
from fastcgi import Client
from node import start_galera, wait
from phone import Phone
from programs import ACCOUNTS, CODE, DATABASE, Site
from wallet import Shop, enroll

CONNECTIONS = "SELECT id FROM information_schema.processlist WHERE user LIKE 'switchboard_%'"
CONFIRMATION = re.compile(r"confirm\?token=(\S+)")


class Race:
    """Two responders and two companions, one of each on either node."""

    def __init__(self, folder, binaries):
        self.nodes = start_galera(folder, 2)
        self.site = Site(folder, binaries, self.nodes[0])
        self.nodes[1].catch_up(DATABASE)
        hosts = [node.socket for node in self.nodes]
        self.responders = [self.site.respond(f"responder{number}", host) for number, host in enumerate(hosts, 1)]
        self.companions = [self.site.accompany(f"companion{number}", host) for number, host in enumerate(hosts, 1)]
        self.site.wait_until_healthy()
        self.names = 0
        self.killers = [node.connect() for node in self.nodes]

    def stop(self):
        self.site.stop()
        for node in self.nodes:
            node.stop()

    def phone(self):
        """The phone of somebody who has just signed up."""
        self.names += 1
        phone = Phone(Client(self.responders[0].path), f"person{self.names}")
        phone.sign_up()
        return phone

    def forget_connections(self):
        """Ends every connection of the site's programs, so that the next request prepares its statements."""
        self.nodes[1].catch_up(DATABASE)
        for killer in self.killers:
            ended = set(killer.rows(CONNECTIONS))
            for account in ACCOUNTS:
                killer.run(f"KILL USER switchboard_{account}")
            wait("the end of the connections", lambda: not ended & set(killer.rows(CONNECTIONS)))

    def on_both(self, ask):
        """What `ask(client)` answers on either node, asked at the same moment."""
        self.forget_connections()
        gate, clients = threading.Barrier(2), [Client(responder.path) for responder in self.responders]
        late = random.choice(clients)

        def pass_gate(client):
            gate.wait(30)
            if client is late:
                time.sleep(random.uniform(0, 0.002))

        for client in clients:
            client.before_end = functools.partial(pass_gate, client)
        with concurrent.futures.ThreadPoolExecutor(2) as threads:
            return list(threads.map(ask, clients))

    def conflicts(self):
        """How often a node has aborted a transaction for another node's."""
        names = ("wsrep_local_bf_aborts", "wsrep_local_cert_failures")
        return sum(int(node.status(name)) for node in self.nodes for name in names)


class Tickets:
    """A ticket in the URL of a web socket lets in once."""

    right = (204, 401)

    def __init__(self, race):
        self.race = race
        self.access = PairingTokens(race).exchange(Client(race.responders[0].path)).expect(200)["access_token"]

    def __call__(self):
        ticket = Client(self.race.responders[0].path).send(
            "POST", "/api/auth/ticket", token=self.access).expect(200)["ticket"]
        return self.race.on_both(lambda client: client.send("GET", "/_auth", uri=f"/ws?token={ticket}"))


class PairingTokens:
    """The token of a QR code pairs one phone."""

    right = (200, 401)

    def __init__(self, race):
        self.race = race

    def make(self):
        here = Client(self.race.responders[0].path, "127.0.0.1")
        return here.send("POST", "/api/pair/refresh").expect(200)["token"]

    def exchange(self, client, token=None):
        return client.send("POST", "/api/auth/exchange", {"pairing_token": token or self.make()})

    def __call__(self):
        token = self.make()
        return self.race.on_both(lambda client: self.exchange(client, token))


class MailedCodes:
    """A mailed code signs in once."""

    right = (200, 401)

    def __init__(self, race):
        self.race = race

    def __call__(self):
        phone = self.race.phone()
        body = {"email": phone.email, "method": "email", **phone.device}
        phone.client.send("POST", "/api/mobile/auth/login", body).expect(200)
        self.race.companions[0].wake()
        code = self.race.site.mailbox.wait(phone.email, CODE)
        body = {"email": phone.email, "code": code, **phone.device}
        return self.race.on_both(lambda client: client.send("POST", "/api/mobile/auth/login/verify", body))


class Payments:
    """A payment is confirmed once."""

    right = (200, 409)

    def __init__(self, race):
        self.race = race
        self.shop = Shop(race.site, race.nodes[0].socket)
        self.phone = race.phone()
        enroll(self.phone, race.companions)

    def __call__(self):
        payment = self.shop.begin_payment(self.phone)
        return self.race.on_both(lambda client: self.shop.confirm(client, self.phone, payment))


class RefreshTokens:
    """A refresh token has one successor, however often it is sent."""

    right = (200,)

    def __init__(self, race):
        self.race = race
        self.rounds = 0

    def __call__(self):
        if self.rounds % 20 == 0:  # a family may be refreshed 30 times an hour
            self.phone = self.race.phone()
        self.rounds += 1
        body = {"refreshToken": self.phone.refresh}
        answers = self.race.on_both(lambda client: client.send("POST", "/api/mobile/auth/token/refresh", body))
        self.phone.refresh = next(answer for answer in answers if answer.status == 200)["refreshToken"]
        return answers

    @staticmethod
    def winners(answers):
        return len({answer["refreshToken"] for answer in answers if answer.status == 200})


class Leases:
    """A mail that is due is leased by one companion."""

    right = ()

    def __init__(self, race):
        self.race = race
        self.emails = []

    def __call__(self):
        email = self.race.phone().email
        self.race.forget_connections()
        for companion in self.race.companions:
            companion.wake()
        self.race.site.mailbox.wait(email, CONFIRMATION, 90)
        self.emails.append(email)
        return [email]

    def winners(self, emails):
        return len(self.race.site.mailbox.texts(emails[0], CONFIRMATION))


KINDS = {
    "ticket": Tickets, "mailed code": MailedCodes, "exchange": PairingTokens, "payment": Payments,
    "refresh token": RefreshTokens, "companion's lease": Leases}


def _winners(answers):
    return sum(answer.status < 300 for answer in answers)


def _run(kind, race, count):
    """How many of `count` values were spent twice, how many by nobody, and how many transactions were aborted."""
    ask = kind(race)
    count_winners = getattr(ask, "winners", _winners)
    before = race.conflicts()
    results = [ask() for _ in range(count)]
    for answers in results:
        statuses = {answer.status for answer in answers if not isinstance(answer, str)}
        assert statuses <= {*ask.right, 503}, [answer.text for answer in answers]
    winners = [count_winners(answers) for answers in results]
    return sum(number > 1 for number in winners), winners.count(0), race.conflicts() - before


def main(folder, binaries, count, kinds=tuple(KINDS)):
    """Prints a table. Fails if a value was spent twice."""
    race = Race(folder, binaries)
    try:
        engine = raw.figures(race.nodes, count)
        print(f"The engine alone, {count} races each, values that both nodes have spent: {engine['inside']} where the "
              f"statements are prepared inside the transaction, {engine['before']} where they are prepared before it",
              flush=True)
        print(f"{'spent on two nodes at once':28}{'races':>7}{'twice':>7}{'nobody':>8}{'conflicts':>11}", flush=True)
        lost = 0
        for name in kinds:
            twice, nobody, conflicts = _run(KINDS[name], race, count)
            print(f"{name:28}{count:7}{twice:7}{nobody:8}{conflicts:11}", flush=True)
            lost += twice
        assert lost == 0, f"{lost} values were spent twice"
    finally:
        race.stop()
