"""Tickets of phones that were revoked on one node, used on another node that has not applied that yet."""

from kinds import Ticket
from programs import DATABASE

ROWS = 100_000
ROUNDS = 3
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
        admitted[bits] = sum(_is_admitted(race) for _ in range(ROUNDS))
        print(f"tickets of {ROUNDS} phones that were revoked on another node, wsrep_sync_wait={bits}: {admitted[bits]} admitted")
    first.run("DROP DATABASE lag")
    assert admitted[7] == 0, admitted


def _is_admitted(race):
    first, second = race.nodes
    kind = Ticket(race)
    value = kind.make()
    second.catch_up(DATABASE)
    client = race.clients()[1]
    with first.connect(DATABASE) as here, second.connect(DATABASE) as there:
        there.run("SET wsrep_sync_wait = 0")
        here.run("UPDATE lag.slow SET text = UUID()")  # applied by the other node for a second or two
        here.run(REVOCATION)
        assert there.value(IS_OPEN) == "1", "the second node does not lag: it needs more rows"
        return kind.ask(client, value).status == 204
