"""One-time values, each requested on two nodes at the same time, from newly started programs."""

import concurrent.futures
import dataclasses
import functools
import random
import threading
import time

import chain
import lag
import raw
from fastcgi import Client
from kinds import CONFIRMATION, KINDS
from node import start_galera
from phone import Phone
from programs import DATABASE, Site
from rows import Rows, excess

CONTROLS = 4  # runs in which the two requests follow each other
ENGINE_RACES = 3  # races of the engine alone for each race of the programs


class Race:
    """A responder and a companion on each node."""

    def __init__(self, folder, binaries, nodes=2):
        self.nodes = start_galera(folder, nodes)
        self.site = Site(folder, binaries, self.nodes[0])
        for node in self.nodes[1:]:
            node.catch_up(DATABASE)
        hosts = [node.socket for node in self.nodes]
        self.responders = [self.site.respond(f"responder{number}", host) for number, host in enumerate(hosts, 1)]
        self.companions = [self.site.accompany(f"companion{number}", host) for number, host in enumerate(hosts, 1)]
        self.site.wait_until_healthy()
        self.names = 0
        self.rows = Rows(self.nodes[0])

    def stop(self):
        self.rows.connection.close()
        self.site.stop()
        for node in self.nodes:
            node.stop()

    def phone(self):
        """The phone of a person who has just signed up."""
        self.names += 1
        phone = Phone(Client(self.responders[0].path), f"person{self.names}")
        phone.sign_up()
        return phone

    def clients(self):
        """A client of each responder. The responders have just been started, like plain CGI for each request, and have not
        used their database yet, so they prepare every statement."""
        for responder in self.responders:
            responder.kill()
            responder.start()
        clients = [Client(responder.path) for responder in self.responders]
        for client in clients:
            client.send("GET", "/nothing").expect(404)
        return clients

    def on_both(self, ask):
        """The results of `ask(client)` on both nodes at the same time; None if the responder has ended."""
        gate, clients = threading.Barrier(2), self.clients()
        late = random.choice(clients)

        def pass_gate(client):
            gate.wait(30)
            if client is late:
                time.sleep(random.uniform(0, 0.002))

        for client in clients:
            client.before_end = functools.partial(pass_gate, client)
        with concurrent.futures.ThreadPoolExecutor(2) as threads:
            return list(threads.map(functools.partial(_answer, ask), clients))

    def one_after_the_other(self, ask):
        clients = self.clients()
        return [ask(client) for client in random.sample(clients, 2)]

    def conflicts(self):
        """The number of transactions that a node aborted for another node's transaction."""
        names = ("wsrep_local_bf_aborts", "wsrep_local_cert_failures")
        return sum(int(node.status(name)) for node in self.nodes for name in names)


def _answer(ask, client):
    try:
        return ask(client)
    except OSError:
        return None


@dataclasses.dataclass
class Score:
    """The numbers of races of one kind with each result."""

    twice: int = 0        # races in which both requests used the value
    nobody: int = 0       # races in which no request got it
    left: int = 0         # races that left more rows than the two requests in sequence
    broken: int = 0       # races in which the winner's result does not work
    ended: int = 0        # races in which a responder has ended
    conflicts: int = 0    # transactions that a node aborted

    @property
    def is_clean(self):
        return not (self.twice or self.left or self.broken or self.ended)


class Contest:
    """Races for the values of one kind."""

    def __init__(self, race, kind):
        self.race, self.kind, self.score = race, kind(race), Score()
        self.usual = [self._added(race.one_after_the_other)[2] for _ in range(CONTROLS)]

    def _added(self, ask):
        value = self.kind.make()
        before = self.race.rows.count()
        answers = ask(lambda client: self.kind.ask(client, value))
        return value, answers, self.race.rows.added_since(before)

    def run(self):
        value, answers, added = self._added(self.race.on_both)
        if None in answers:
            self.score.ended += 1
            return
        statuses = {answer.status for answer in answers}
        assert statuses <= {*self.kind.right, 503}, [answer.text for answer in answers]
        winners = self.kind.winners(answers)
        self.score.twice += winners > 1
        self.score.nobody += winners == 0
        if left := excess(added, self.usual):
            self.score.left += 1
            print(f"  statuses {[answer.status for answer in answers]} left {left}", flush=True)
        self.score.broken += not all(self._works(answer, value) for answer in answers if answer.status < 300)

    def _works(self, answer, value):
        """Whether the answer works on a node other than the issuing one."""
        return self.kind.works(Client(random.choice(self.race.responders).path), answer, value)


class Leases:
    """One companion leases a due mail."""

    def __init__(self, race):
        self.race, self.score = race, Score()

    def run(self):
        for companion in self.race.companions:
            companion.kill()
        email = self.race.phone().email
        self.race.nodes[1].catch_up(DATABASE)
        for companion in self.race.companions:
            companion.start()
            companion.wake()
        mailbox = self.race.site.mailbox
        mailbox.wait(email, CONFIRMATION, 90)
        self.score.twice += len(mailbox.texts(email, CONFIRMATION)) > 1


def main(folder, binaries, count, kinds):
    """Prints a table. Fails if a value was used twice, if a refused request left something behind, or if a node misses what
    another has written."""
    race = Race(folder, binaries)
    try:
        raw.figures(race.nodes, ENGINE_RACES * count)
        lag.main(race)
        chain.main(folder)
        print(f"{'asked for on two nodes at once':30}{'races':>7}" + "".join(
            f"{field.name:>11}" for field in dataclasses.fields(Score)), flush=True)
        scores = [_run(race, name, count) for name in kinds or [*KINDS, "companion's lease"]]
        assert all(score.is_clean for score in scores), "see above"
    finally:
        race.stop()


def _run(race, name, count):
    contest = Contest(race, KINDS[name]) if name in KINDS else Leases(race)
    before = race.conflicts()
    for _ in range(count):
        contest.run()
    contest.score.conflicts = race.conflicts() - before
    print(f"{name:30}{count:7}" + "".join(f"{number:11}" for number in dataclasses.astuple(contest.score)), flush=True)
    return contest.score
