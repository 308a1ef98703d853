"""A primary and its replica: the time without writes when the replica takes over."""

import time

from clients import Sight, Writer
from fastcgi import Client
from node import Node, make_template, wait
from programs import Site

WRITERS = 6
LIMIT = 10  # seconds from the promotion to the first write
# Both servers begin as replicas, as the manual says: a server that comes back must not take writes before a decision, and
# a server that waits for acknowledgments of its own replicas applies changes late.
OPTIONS = {"read-only": "ON", "log-bin": "log", "log-slave-updates": "ON", "rpl-semi-sync-slave-enabled": "ON",
           "rpl-semi-sync-master-wait-point": "AFTER_SYNC"}
ACKNOWLEDGED = "SET GLOBAL rpl_semi_sync_master_enabled = {}"


class Pair:
    """Two servers, and a site whose programs know both."""

    def __init__(self, folder, binaries):
        template = make_template(folder / "template")
        self.nodes = [Node(folder, f"server{number}", template, OPTIONS | {"server-id": number}) for number in (1, 2)]
        for node in self.nodes:
            node.make()
            node.start()
        for node in self.nodes:
            wait(f"{node.name} starts", node.answers)
        self.primary, self.replica = self.nodes
        self.primary.run("SET GLOBAL read_only = OFF", "CREATE USER replica@'127.0.0.1' IDENTIFIED BY 'replica'",
                         "GRANT REPLICATION SLAVE ON *.* TO replica@'127.0.0.1'")
        self.follow(self.replica, self.primary)
        self.primary.run(ACKNOWLEDGED.format("ON"))
        self.site = Site(folder, binaries, self.primary)
        self.catch_up()
        hosts = ",".join(node.address for node in self.nodes)
        self.responders = [self.site.respond(f"responder{number}", hosts) for number in (1, 2)]
        self.site.accompany("companion", hosts)
        self.site.wait_until_healthy()
        self.sight = Sight()
        sockets = [responder.path for responder in self.responders]
        self.writers = [Writer(sockets, self.sight) for _ in range(WRITERS)]
        self.watcher = Client(sockets)

    def stop(self):
        self.site.stop()
        for node in self.nodes:
            node.stop()

    @staticmethod
    def follow(replica, primary):
        replica.run(f"CHANGE MASTER TO master_host='127.0.0.1', master_port={primary.port}, master_user='replica', "
                    "master_password='replica', master_use_gtid=slave_pos", "START SLAVE")

    def catch_up(self):
        """Waits until the replica has the primary's commits."""
        position = self.primary.ask("SELECT @@gtid_binlog_pos")
        reached = self.replica.ask(f"SELECT MASTER_GTID_WAIT('{position}', 60)", limit=70)
        assert reached == "0", "the replica did not catch up"

    def promote(self):
        """Makes the replica take writes. Returns the time."""
        self.replica.run("STOP SLAVE", "SET GLOBAL read_only = OFF")
        moment = time.monotonic()
        self.primary, self.replica = self.replica, self.primary
        return moment

    def switch(self):
        """A planned switch: nothing is lost, because the replica first catches up."""
        self.primary.run("SET GLOBAL read_only = ON", "KILL USER switchboard_responder", "KILL USER switchboard_companion",
                         ACKNOWLEDGED.format("OFF"))
        self.catch_up()
        wait("/health says it", lambda: self.watcher.send("GET", "/health").text.count('"database":"read_only"') == 1)
        moment = self.promote()
        self.replica.run("SET GLOBAL gtid_slave_pos = @@gtid_binlog_pos")
        self.follow(self.replica, self.primary)
        self.primary.run(ACKNOWLEDGED.format("ON"))
        return moment

    def lose(self):
        """The primary dies, and its replica is promoted."""
        self.primary.kill()
        wait("the replica has applied what it got", lambda: self.replica.ask(
            "SELECT COUNT(*) FROM information_schema.processlist WHERE command = 'Slave_SQL' "
            "AND state LIKE 'Slave has read all%'") == "1")
        return self.promote()

    def measure(self, name, change):
        """Runs `change` while all clients write, and prints the time without writes."""
        before = sum(len(writer.times) for writer in self.writers)
        wait("writes", lambda: sum(len(writer.times) for writer in self.writers) > before + 50)
        unavailable = self.sight.counts[503]
        moment = change()
        wait("every writer writes again", lambda: all(writer.times[-1] > moment for writer in self.writers), 60)
        earlier = max(at for writer in self.writers for at in writer.times if at <= moment)
        writers = [min(at for at in writer.times if at > moment) for writer in self.writers]
        first, last = min(writers) - moment, max(writers) - moment
        print(f"{name:20}{first:18.1f}{last:18.1f}{min(writers) - earlier:18.1f}{self.sight.counts[503] - unavailable:10}", flush=True)
        assert last <= LIMIT, f"{name}: {last:.1f} s passed from the promotion until everybody could write"


def main(folder, binaries):
    pair = Pair(folder, binaries)
    try:
        for writer in pair.writers:
            writer.start()
        print(f"{'':20}{'first write':>18}{'every writer':>18}{'no write at all':>18}{'503':>10}", flush=True)
        print(f"{'':20}{'s after promotion':>18}{'s after promotion':>18}{'s':>18}{'answers':>10}", flush=True)
        pair.measure("planned switch", pair.switch)
        pair.measure("primary killed", pair.lose)
        for writer in pair.writers:
            writer.stop()
        assert all(writer.look("lost") for writer in pair.writers), "a name cannot be read after the switches"
        counts = pair.sight.counts
        print(f"{counts['acknowledged']} writes acknowledged, {counts['lost']} lost")
        assert not pair.sight.wrong, "\n".join(pair.sight.wrong)
    finally:
        pair.stop()
