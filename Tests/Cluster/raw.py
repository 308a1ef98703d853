"""What the engine itself loses: two nodes spend one row at the same moment, by the client library alone."""

import random
import threading
import time

from libmariadb import DatabaseError

SPEND = "UPDATE spent SET by_node = {} WHERE id = 1 AND by_node IS NULL"


def _spend(connection, is_prepared):
    """Spends the row in a transaction that then reads. Answers whether it was told that it had won."""
    update, reading = connection.prepare(SPEND.format(1)), connection.prepare("SELECT by_node FROM spent WHERE id = 1")
    fresh = []
    try:
        connection.run("START TRANSACTION")
        changed = update.execute()
        for number in range(8 if is_prepared else 4):
            if not is_prepared:
                fresh.append(connection.prepare(f"SELECT by_node, {number} FROM spent WHERE id = 1"))
            (reading if is_prepared else fresh[-1]).execute()
        connection.run("COMMIT")
        return changed == 1
    except DatabaseError:
        connection.run("ROLLBACK")
        return False
    finally:
        for statement in [update, reading, *fresh]:
            statement.close()


def _race(first, second, is_prepared):
    """Whether each of both nodes was told that it had won."""
    gate, pause, won = threading.Barrier(2), random.uniform(0, 0.0006), []

    def other():
        gate.wait()
        time.sleep(pause)
        try:
            won.append(second.run(SPEND.format(2)) == 1)
        except DatabaseError:
            won.append(False)

    first.run("REPLACE INTO spent VALUES (1, NULL)")
    second.run("SET wsrep_sync_wait = 1")
    second.value("SELECT by_node FROM spent WHERE id = 1")
    thread = threading.Thread(target=other)
    thread.start()
    gate.wait()
    mine = _spend(first, is_prepared)
    thread.join()
    return mine, won[0]


def figures(nodes, count):
    """How many of `count` values both nodes have spent, with statements prepared before the transaction and inside it."""
    nodes[0].run("CREATE DATABASE raw", "CREATE TABLE raw.spent (id INT PRIMARY KEY, by_node INT NULL)")
    with nodes[0].connect("raw") as first, nodes[1].connect("raw") as second:
        return {word: sum(_race(first, second, word == "before") == (True, True) for _ in range(count))
                for word in ("before", "inside")}
