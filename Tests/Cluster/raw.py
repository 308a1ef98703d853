"""The losses of the engine itself: two nodes change one row at the same time, with only the client library."""

import random
import threading
import time

from libmariadb import DatabaseError

SPEND = "UPDATE spent SET by_node = {} WHERE id = 1 AND by_node IS NULL"
STATEMENTS = 4


class Attempt:
    """A transaction that uses the row, and then executes more statements, like the programs."""

    def __init__(self, connection, place):
        """- place: where the statements are prepared: "before" the transaction, "inside" it, or inside and "guarded": with
        autocommit off, as in all transactions of the programs."""
        self.connection, self.place = connection, place
        self.prepared = {}
        self.has_won = False

    def run(self, statements, end):
        """Returns whether no abort was reported."""
        self._prepare(SPEND.format(1))
        for sql in statements if self.place == "before" else []:
            self._prepare(sql)
        try:
            self.connection.run("START TRANSACTION" if self.place == "inside" else "SET autocommit = 0")
            self.has_won = self.prepared[SPEND.format(1)].execute() == 1
            for sql in statements:
                (self.prepared.get(sql) or self._prepare(sql)).execute()
            self.connection.run(end)
            return True
        except DatabaseError:
            return False
        finally:
            self._end()

    def _prepare(self, sql):
        self.prepared[sql] = self.connection.prepare(sql)
        return self.prepared[sql]

    def _end(self):
        for sql in ("ROLLBACK", "SET autocommit = 1"):
            try:
                self.connection.run(sql)
            except DatabaseError:  # now the server reports the abort
                self.connection.run(sql)
        for statement in self.prepared.values():
            statement.close()


class Engine:
    """Two nodes, and a connection to each node."""

    def __init__(self, nodes):
        nodes[0].run(
            "CREATE DATABASE raw", "CREATE TABLE raw.spent (id INT PRIMARY KEY, by_node INT NULL)",
            "CREATE TABLE raw.rows_left (id INT PRIMARY KEY)")
        self.first, self.second = nodes[0].connect("raw"), nodes[1].connect("raw")
        self.second.run("SET wsrep_sync_wait = 1")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.first.close()
        self.second.close()

    def _race(self, place, statements, end):
        """Returns for each node whether it reported a change of the row."""
        gate, pause, won = threading.Barrier(2), random.uniform(0, 0.0006), []

        def other():
            gate.wait()
            time.sleep(pause)
            try:
                won.append(self.second.run(SPEND.format(2)) == 1)
            except DatabaseError:
                won.append(False)

        self.first.run("REPLACE INTO spent VALUES (1, NULL)")
        self.second.value("SELECT by_node FROM spent WHERE id = 1")
        thread = threading.Thread(target=other)
        thread.start()
        gate.wait()
        attempt = Attempt(self.first, place)
        is_told = attempt.run(statements, end)
        thread.join()
        return is_told and attempt.has_won, won[0]

    def spends_twice(self, place):
        """Whether both nodes reported that they used the row."""
        reads = [f"SELECT by_node, {number} FROM spent WHERE id = 1" for number in range(STATEMENTS)]
        return self._race(place, reads, "COMMIT") == (True, True)

    def leaves_rows(self, place):
        """Whether rows of a rolled-back transaction remain."""
        self.first.run("DELETE FROM rows_left")
        statements = [sql for number in range(STATEMENTS) for sql in (
            f"SELECT by_node, {number} FROM spent WHERE id = 1", f"INSERT INTO rows_left VALUES ({number})")]
        self._race(place, statements, "ROLLBACK")
        return self.first.value("SELECT COUNT(*) FROM rows_left") != "0"


def figures(nodes, count):
    """Prints how many of `count` races use a row twice or leave rows behind. Fails if this happens with statements that are
    prepared like those of the programs."""
    with Engine(nodes) as engine:
        twice = {place: sum(engine.spends_twice(place) for _ in range(count)) for place in ("inside", "before")}
        left = {place: sum(engine.leaves_rows(place) for _ in range(count)) for place in ("inside", "guarded", "before")}
    print(f"The engine alone, {count} races of each:", flush=True)
    for name, found in (("spent on both nodes by COMMIT", twice), ("rows left behind after ROLLBACK", left)):
        print(f"  {name}: " + ", ".join(f"{place} {number}" for place, number in found.items()), flush=True)
    assert not (twice["before"] or left["before"] or left["guarded"]), "what must not be lost is lost"
