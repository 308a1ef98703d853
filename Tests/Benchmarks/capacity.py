"""The cost of each unit of work in databases of three sizes, in turn: see Sources/Manual/capacity.md."""

import contextlib
import json
import statistics

from apns import Gateway
from callers import CODE, Caller, Person
from load import load_with
from polls import Poller
from preferences import BODY, PATH
from proxy import Proxy
from tables import Figure, median, print_table
from tokens import write_callers

FEW, SOME = 1000, 100_000
# The devices that do something, which are spread over the table. Half read and write; a sign-in ends the session before it.
ACTIVE = 1000
SIGN_INS, NOTIFICATIONS, PLAYERS = 200, 5000, 100
# The requests of a connection whose bytes are counted.
COUNTED = 50
PROGRAMS = ("responder", "companion", "MariaDB")
FIGURES = (*(f"CPU µs: {name}" for name in PROGRAMS), "redo bytes", "binary log bytes", "program's log bytes", "network bytes")
DEVICE_TABLES = ("accounts", "devices", "sessions", "device_preferences", "push_tokens")
OTHER_TABLES = ("audit_log", "notifications", "deliveries", "ogs_users", "ogs_registrations", "ogs_games")


def measure(stage, programs, rounds, seconds, budgets):
    stage.site.enlarge_database(4)
    sizes = (FEW, SOME, stage.options.devices)
    gateway, poller = Gateway(stage, programs), Poller(stage, programs)
    grounds = {size: Ground(stage, programs, size, gateway, poller) for size in sizes}
    costs = {(unit, size): [] for unit in Ground.units for size in sizes}
    device_bytes = {size: grounds[size].bytes_each(DEVICE_TABLES) for size in sizes}
    for number in range(-1, rounds):
        for unit in Ground.units:
            for size in sorted(sizes, reverse=number % 2):
                cost = getattr(grounds[size], unit)(seconds if number >= 0 else 1, number + 1)
                if number >= 0:  # the first warms up
                    costs[unit, size].append(cost)
    print_table((" unit", "devices", *FIGURES), *(
        (unit.replace("_", " "), Figure(f"{size:,}", size), *(median([cost[figure] for cost in costs[unit, size]], "{:,.0f}") for figure in FIGURES))
        for unit in Ground.units for size in sizes))
    other_bytes = {size: grounds[size].bytes_each(OTHER_TABLES) for size in sizes}
    print_table((" table", *(f"bytes a row, {size:,} devices" for size in sizes)), *(
        (table, *(Figure(f"{found[size].get(table, 0):,.0f}", found[size].get(table, 0)) for size in sizes))
        for found, names in ((device_bytes, DEVICE_TABLES), (other_bytes, OTHER_TABLES)) for table in names))
    reads = {size: [cost["CPU µs: MariaDB"] for cost in costs["read", size]] for size in sizes}
    budgets.row("read, CPU of MariaDB: most devices / fewest", f"{statistics.median(reads[sizes[2]]) / statistics.median(reads[FEW]):.2f}",
                "none", None)
    return (f"Capacity: {rounds} rounds; reads and writes by 16 connections for {seconds} s, the others one after the other; {ACTIVE} of the "
            f"devices send requests; the site without TLS, APNs with TLS")


class Ground:
    """A database of one size, with the programs that work on it. Each unit returns its FIGURES for one piece of work."""

    units = ("read", "write", "sign_in", "notification", "poll_with_news", "poll_without_news")

    def __init__(self, stage, programs, size, gateway, poller):
        self.stage, self.site, self.size, self.gateway = stage, stage.site, size, gateway
        self.database = f"capacity_{size}"
        self.companion = programs / "switchboard-companion"
        self.site.make_database(self.database)
        for script in ("devices.sql", "polls.sql"):
            self.site.seed(script, size, self.database)
        self.contender = stage.fastcgi(self.database, programs / "switchboard-responder", self.site.environment(self.database))
        self.active = range(1, size + 1, size // ACTIVE)
        self.callers = write_callers(stage.directory / f"callers-{size}", self.site, self.active[:ACTIVE // 2])
        self.caller = Caller(self.site, self.contender, self.database)
        self.poller, self.web = poller, Proxy(self.contender.port)
        self.apple, self.players = Proxy(int(gateway.url.rsplit(":", 1)[1])), Proxy(int(poller.url.rsplit(":", 1)[1]))

    def read(self, seconds, _number):
        return self.load(seconds, "GET", None)

    def write(self, seconds, _number):
        return self.load(seconds, "POST", BODY)

    def load(self, seconds, method, body):
        self.site.sql("TRUNCATE rate_limits; TRUNCATE audit_log", self.database)
        with self.watch() as cost:
            count = load_with(self.contender, method, PATH, self.callers, seconds, body)["requests"]
        cost["network bytes"] = self.bytes_of(method, body) * count
        return each(cost, count)

    def bytes_of(self, method, body):
        """The bytes of a request and its answer on a connection that stays open."""
        caller, before = Caller(self.site, self.contender, self.database, port=self.web.port), self.web.bytes
        person = Person(caller, 1)
        for _ in range(COUNTED):
            caller.lift_limits()
            caller.send(method, PATH, body and json.loads(body), fields=person.bearer())
        return (self.web.bytes - before) / COUNTED

    def sign_in(self, _seconds, _number):
        """By a mailed code: the request for the code, the mail, and the request that signs in."""
        caller = Caller(self.site, self.contender, self.database, port=self.web.port)
        people, before = [Person(caller, row) for row in self.active[ACTIVE // 2:][:SIGN_INS]], self.web.bytes
        with self.watch() as cost:
            for place, person in enumerate(people):
                if place % 5 == 0:  # fewer deletions that count as costs; each network may ask for six codes
                    caller.lift_limits()
                person.post("/api/mobile/auth/login", {"email": person.email, **person.described})
            self.run(cost, {"SWITCHBOARD_MAIL_DIRECTORY": str(self.stage.directory)})
        for person in people:
            person.replace_code("client_device_id", person.phone, person.phone)
        with self.watch(cost):
            for person in people:
                person.post("/api/mobile/auth/login/verify", {**person.described, "email": person.email, "code": CODE})
        cost["network bytes"] = self.web.bytes - before
        return each(cost, SIGN_INS)

    def notification(self, _seconds, _number):
        self.site.sql("SET foreign_key_checks = 0; TRUNCATE deliveries; TRUNCATE notifications", self.database)
        self.site.seed("deliveries.sql", NOTIFICATIONS, self.database)
        before = self.apple.bytes
        with self.watch() as cost:
            self.run(cost, self.gateway.settings() | {"APNS_ENDPOINT_OVERRIDE": f"https://localhost:{self.apple.port}"})
        sent = int(self.site.sql("SELECT COUNT(*) FROM deliveries WHERE state = 'delivered'", self.database))
        if sent != NOTIFICATIONS:
            raise SystemExit(f"error: {sent} of {NOTIFICATIONS} were delivered")
        cost["network bytes"] = self.apple.bytes - before
        return each(cost, sent)

    def poll_with_news(self, _seconds, number):
        """Ten new games, five of which wait for the player: one notification is written."""
        return self.poll(number)

    def poll_without_news(self, _seconds, number):
        return self.poll(number)

    def poll(self, number):
        before, users = self.players.bytes, self.active[number * PLAYERS:][:PLAYERS]
        with self.watch() as cost:
            run = self.poller.poll(self.database, users, f"http://127.0.0.1:{self.players.port}")
            cost["CPU µs: companion"] += run.cpu * 1e6
        cost["network bytes"] = self.players.bytes - before
        return each(cost, PLAYERS)

    def run(self, cost, settings):
        """A pass of the companion."""
        run = self.stage.run("companion", [self.companion, "run"], self.site.environment(self.database, "companion") | settings)
        cost["CPU µs: companion"] += run.cpu * 1e6
        cost["program's log bytes"] += len(run.output.encode())

    @contextlib.contextmanager
    def watch(self, cost=None):
        """Adds to `cost` what the work within costs the responder and MariaDB."""
        cost = dict.fromkeys(FIGURES, 0) if cost is None else cost
        before = self.now()
        yield cost
        for figure, value in self.now().items():
            cost[figure] += value - before[figure]

    def now(self):
        lsn = int(self.site.sql("SHOW GLOBAL STATUS LIKE 'Innodb_lsn_current'").split()[1])
        logs = [line.split("\t") for line in self.site.sql("SHOW BINARY LOGS").splitlines()]
        files = self.stage.directory.glob(f"{self.database}*log")
        return {"CPU µs: responder": self.contender.cpu() * 1e6, "CPU µs: MariaDB": self.site.database_cpu() * 1e6, "redo bytes": lsn,
                "binary log bytes": sum(int(size) for _, size in logs), "program's log bytes": sum(file.stat().st_size for file in files)}

    def bytes_each(self, tables):
        """The bytes of data and indexes of each table, divided by its rows; only of tables with enough rows."""
        self.site.sql(f"ANALYZE TABLE {', '.join(tables)}", self.database)
        found = {}
        for table in tables:
            rows = int(self.site.sql(f"SELECT COUNT(*) FROM {table}", self.database))
            size = int(self.site.sql("SELECT data_length + index_length FROM information_schema.tables WHERE table_schema = DATABASE() "
                                     f"AND table_name = '{table}'", self.database))
            if rows >= FEW:
                found[table] = size / rows
        return found


def each(cost, count):
    return {figure: value / count for figure, value in cost.items()}
