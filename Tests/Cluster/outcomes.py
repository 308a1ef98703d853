"""Requests for payments that many calls on three nodes try to decide at the same time."""

import concurrent.futures
import random
import threading
import time
import uuid

from fastcgi import Client
from programs import DATABASE
from races import Race
from wallet import Shop, enroll

CALLS = 64
ROUNDS_OF_A_PERSON = 4  # below the limits of one person
# One outcome, which a refund may follow.
ALLOWED = ({"confirmed"}, {"cancelled"}, {"confirmed", "refunded"})
RIGHT = (200, 400, 409, 410, 503)  # 400: the tries of a confirmation are used up
EVENTS = ("confirmed", "cancelled", "refunded")


class Payments:
    """A shop whose webhooks wait, because no companion runs, and people who pay there."""

    def __init__(self, race):
        self.race = race
        self.shop = Shop(race.site, race.nodes[0].socket)
        race.nodes[0].run("UPDATE merchants SET webhook_url = 'https://shop.example.org/', webhook_secret = 'none'",
                          database=DATABASE)
        self.rounds = self.killed = self.unanswered = 0
        self.outcomes = {}

    def person(self):
        """The phone of a person who can pay."""
        phone = self.race.phone()
        enroll(phone, self.race.companions, self.race.site.mailbox)
        return phone

    def run(self, phone, kills):
        """Sends all calls for one payment at once, and checks what is left on each node."""
        request = self.shop.request(Client(self.race.responders[0].path), str(uuid.uuid4()))
        for node in self.race.nodes:
            node.catch_up(DATABASE)
        challenge = self.shop.approve(phone.client, phone, request).expect(200)["challenge"]
        calls = [
            lambda client: self.shop.confirm(
                client, phone, {"paymentId": request, "challenge": challenge}),
            lambda client: self.shop.approve(client, phone, request),
            lambda client: client.send("POST", f"/api/mobile/payment/{request}/cancel", token=phone.access),
            lambda client: self.shop.move(client, request, "cancel"),
            lambda client: self.shop.move(client, request, "refund"),
        ]
        cancels = calls[2:4]
        lead = random.choice([0, 0.1, 0.3])  # seconds; without it a confirmation, which takes longer, never comes first
        gate = threading.Barrier(CALLS + 1)

        def call(number):
            client, chosen = Client(random.choice(self.race.responders).path), calls[number % len(calls)]
            gate.wait(60)
            if chosen in cancels:
                time.sleep(random.uniform(0, lead))
            try:
                return chosen(client)
            except OSError:
                return None  # its responder was killed

        with concurrent.futures.ThreadPoolExecutor(CALLS) as threads:
            answers = threads.map(call, range(CALLS))
            gate.wait(60)
            if kills:
                self.kill_a_responder()
            answers = list(answers)
        self.unanswered += answers.count(None)
        wrong = {answer.text for answer in answers if answer and answer.status not in RIGHT}
        assert not wrong, wrong
        # If no call decided it, the shop cancels it now.
        last = self.shop.move(Client(self.race.responders[0].path), request, "cancel")
        assert last.status in (200, 409), last.text
        self.check(request)

    def kill_a_responder(self):
        time.sleep(random.uniform(0, 0.15))
        responder = random.choice(self.race.responders)
        responder.kill()
        responder.start()
        self.killed += 1

    def check(self, request):
        """Checks that each node's row, view, webhooks and audit log, and each responder's answer, say the same."""
        found = [self.seen(node, responder, request) for node, responder in zip(self.race.nodes, self.race.responders)]
        assert all(one == found[0] for one in found), found
        columns, status, told, audited, said, has_statement = found[0]
        assert columns in ALLOWED, columns
        assert told == audited == sorted(columns), found[0]
        assert status == said == ("refunded" if "refunded" in columns else min(columns)), found[0]
        assert has_statement == (columns == {"confirmed"}), found[0]
        self.rounds += 1
        self.outcomes[status] = self.outcomes.get(status, 0) + 1

    def seen(self, node, responder, request):
        node.catch_up(DATABASE)
        connection = node.connect(DATABASE)
        try:
            rows = connection.rows
            flags = ", ".join(f"{event}_at IS NOT NULL" for event in EVENTS)
            (row,) = rows(f"SELECT {flags} FROM payments WHERE id = '{request}'")
            ((status,),) = rows(f"SELECT status FROM every_payment WHERE payment_id = '{request}'")
            told = rows(f"SELECT SUBSTRING(event, 9) FROM webhooks WHERE payment_id = '{request}'")
            audited = rows(
                "SELECT SUBSTRING(event, 9) FROM audit_log WHERE event IN ("
                + ", ".join(f"'payment_{event}'" for event in EVENTS) + f") AND detail LIKE '{request}%'")
        finally:
            connection.close()
        answer = self.shop.state(Client(responder.path), request).expect(200)
        return ({event for event, flag in zip(EVENTS, row) if int(flag)}, status, sorted(event for (event,) in told),
                sorted(event for (event,) in audited), answer["status"], '"token"' in answer.text)


def main(folder, binaries, count):
    """Prints how often each outcome stayed. Fails if a payment has two, or if a node or an answer says another."""
    race = Race(folder, binaries, nodes=3)
    try:
        payments = Payments(race)
        for number in range(count):
            if number % ROUNDS_OF_A_PERSON == 0:
                phone = payments.person()
                for companion in race.companions:
                    companion.kill()  # the webhooks wait
            payments.run(phone, kills=number % 2 == 1)
            if number % ROUNDS_OF_A_PERSON == ROUNDS_OF_A_PERSON - 1:
                for companion in race.companions:
                    companion.start()
        print(f"{payments.rounds} payments, each decided by {CALLS} calls on three nodes: {payments.outcomes}; "
              f"{payments.killed} responders killed, {payments.unanswered} calls without an answer, "
              f"{race.conflicts()} transactions aborted by another node", flush=True)
    finally:
        race.stop()
