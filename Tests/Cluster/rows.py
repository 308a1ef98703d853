"""The rows that requests leave in the database, counted per table."""

from programs import DATABASE

# Companions and health requests write to these tables at any time.
OTHERS = {"companion_status", "problems", "counters", "delivery_leases", "health", "purge_places"}
TABLES = "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE'"


class Rows:
    """The rows of one node that has applied the others' writes."""

    def __init__(self, node):
        self.connection = node.connect(DATABASE)
        self.connection.run("SET wsrep_sync_wait = 1")
        names = sorted(name for (name,) in self.connection.rows(TABLES) if name not in OTHERS)
        self.query = " UNION ALL ".join(f"SELECT '{name}', COUNT(*) FROM {name}" for name in names)

    def count(self):
        return {name: int(number) for name, number in self.connection.rows(self.query)}

    def added_since(self, before):
        """The difference of the number of rows, for each table with a difference."""
        return {name: number - before[name] for name, number in self.count().items() if number != before[name]}


def excess(added, usual):
    """The rows of `added` that are missing in each of `usual`."""
    most = {name: max(rows.get(name, 0) for rows in usual) for name in added}
    return {name: number - most[name] for name, number in added.items() if number > most[name]}
