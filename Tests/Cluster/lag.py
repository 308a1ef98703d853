"""Tickets of phones that were revoked on one node, used on another node that has not applied that yet."""

from kinds import Ticket
from programs import DATABASE

ROWS = 100_000
ATTEMPTS = 3
REVOCATION = "UPDATE pairings SET ended_at = UTC_TIMESTAMP(3), end_reason = 'administrator' WHERE ended_at IS NULL"
IS_OPEN = "SELECT COUNT(*) FROM pairings WHERE ended_at IS NULL"


def main(race):
    """Prints how many tickets were good. Fails if one was, although the node waits for the others."""
    first, second = race.nodes
    first.run("CREATE DATABASE lag")
    first.run(
        "CREATE TABLE slow (id INT PRIMARY KEY, text CHAR(100)) ENGINE=InnoDB",
        f"INSERT INTO slow SELECT seq, '' FROM seq_1_to_{ROWS}", database="lag")
    admitted = {}
    for bits in (1, 7):
        second.run(f"SET GLOBAL wsrep_sync_wait = {bits}")
        answers = [answer for _ in range(ATTEMPTS) if (answer := _ask(race)) is not None]
        admitted[bits] = sum(answer.status == 204 for answer in answers)
        print(f"tickets of {len(answers)} phones that were revoked on another node, wsrep_sync_wait={bits}: "
              f"{admitted[bits]} admitted")
        assert answers, "the second node never lags: it needs more rows"
    first.run("DROP DATABASE lag")
    assert admitted[7] == 0, admitted


def _ask(race):
    """The answer of the second node; None if it had already applied the revocation."""
    first, second = race.nodes
    kind = Ticket(race)
    value = kind.make()
    second.catch_up(DATABASE)
    client = race.clients()[1]
    with first.connect(DATABASE) as here, second.connect(DATABASE) as there:
        there.run("SET wsrep_sync_wait = 0")
        here.run("UPDATE lag.slow SET text = UUID()")  # applied by the other node for a second or two
        here.run(REVOCATION)
        return kind.ask(client, value) if there.value(IS_OPEN) == "1" else None
