"""Database servers on 127.0.0.1, each with its own folder below a temporary one."""

import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import time

from libmariadb import Connection, DatabaseError

PROVIDER = "/usr/lib/galera/libgalera_smm.so"
BACKUP = ("backup", secrets.token_hex(16))  # the account for copies between nodes, as in the manual
_given = set()


def free_port():
    """A free port of 127.0.0.1, below the range that the kernel gives to clients."""
    for port in range(20000 + os.getpid() % 10000, 32000):
        if port in _given:
            continue
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        _given.add(port)
        return port
    raise RuntimeError("no port below 32000 is free")


def wait(what, holds, limit=60):
    """Waits until `holds()`."""
    deadline = time.monotonic() + limit
    while not holds():
        assert time.monotonic() < deadline, f"{what}: not after {limit} s"
        time.sleep(0.05)


def make_template(folder):
    """Makes an unused data directory."""
    as_user = ["--user=mysql"] if os.geteuid() == 0 else []
    folder.mkdir()  # also for temporary files, because the server's user may write only here
    done = subprocess.run(
        ["env", f"TMPDIR={folder}", "mariadb-install-db", "--no-defaults", *as_user, f"--datadir={folder}", "--skip-test-db", "--force",
         "--auth-root-authentication-method=normal"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, done.stdout
    return folder


class Node:
    """A MariaDB server. It ends with this process, however this process ends."""

    def __init__(self, folder, name, template, options):
        self.folder, self.name, self.template = folder / name, name, template
        self.port = free_port()
        self.socket = self.folder / "socket"
        self.process = None
        self.options = {
            "datadir": self.folder / "data", "tmpdir": self.folder / "tmp", "socket": self.socket,
            "port": self.port, "bind-address": "127.0.0.1", "pid-file": self.folder / "pid",
            "log-error": self.folder / "log.err", "skip-name-resolve": "ON", "max-connections": 300,
            "character-set-server": "utf8mb4", "collation-server": "utf8mb4_nopad_bin",
            "binlog-format": "ROW", "innodb-autoinc-lock-mode": 2, "innodb-flush-log-at-trx-commit": 1,
            "innodb-buffer-pool-size": "96M", "innodb-log-file-size": "32M", **options}

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def make(self):
        """Makes the folder with a copy of the template."""
        (self.folder / "tmp").mkdir(parents=True)
        self._make_data()
        (self.folder / "my.cnf").write_text(
            "[mariadbd]\n" + "".join(f"{name} = {value}\n" for name, value in self.options.items()))
        if os.geteuid() == 0:
            user = pwd.getpwnam("mysql")
            for path in (self.folder, self.folder / "tmp"):
                os.chown(path, user.pw_uid, user.pw_gid)

    def _make_data(self):
        subprocess.run(["cp", "-a", self.template, self.folder / "data"], check=True)

    def lose_data(self):
        """Replaces the data with the template, like a new disk."""
        shutil.rmtree(self.folder / "data")
        self._make_data()

    def start(self, *options):
        """Starts the server without waiting. Call it on the main thread, because the server ends with the calling thread."""
        as_user = ["--reuid=mysql", "--regid=mysql", "--clear-groups"] if os.geteuid() == 0 else []
        # The script that copies a node makes its folder in TMPDIR, where the server's user may have no right to write.
        self.process = subprocess.Popen(
            ["setpriv", *as_user, "--pdeathsig", "KILL", "mariadbd", f"--defaults-file={self.folder}/my.cnf", *options],
            env=os.environ | {"TMPDIR": str(self.folder / "tmp")}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True)

    def connect(self, database="", limit=30):
        return Connection(self.socket, database, limit)

    def ask(self, sql, database="", limit=5):
        """The first value of a query; None if the server does not answer."""
        try:
            with self.connect(database, limit) as connection:
                return connection.value(sql)
        except DatabaseError:
            return None

    def run(self, *statements, database=""):
        with self.connect(database) as connection:
            for sql in statements:
                connection.run(sql)

    def answers(self):
        assert self.process.poll() is None, f"{self.name} has ended: {self.log()}"
        return self.ask("SELECT 1") == "1"

    def kill(self):
        """Kills the server, like a crash."""
        self.process.kill()
        self.process.wait()

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def stop(self):
        """Shuts down the server and removes its folder."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def log(self):
        path = self.folder / "log.err"
        return path.read_text(errors="replace")[-3000:] if path.exists() else "no log"


class GaleraNode(Node):
    """A member of a cluster."""

    def __init__(self, folder, name, template, options):
        super().__init__(folder, name, template, options)
        self.replication, self.state, self.transfer = free_port(), free_port(), free_port()

    def join(self, nodes):
        self.options |= {
            "wsrep-on": "ON", "wsrep-provider": PROVIDER, "wsrep-cluster-name": "cluster-test",
            "wsrep-cluster-address": "gcomm://" + ",".join(f"127.0.0.1:{node.replication}" for node in nodes),
            "wsrep-node-name": self.name, "wsrep-node-address": f"127.0.0.1:{self.replication}",
            "wsrep-sst-method": "mariabackup", "wsrep-sst-receive-address": f"127.0.0.1:{self.transfer}",
            "wsrep-sst-auth": ":".join(BACKUP), "wsrep-sync-wait": 7,
            # The first node, which takes the writes, comes last; any other node if none of these is available.
            "wsrep-sst-donor": "".join(f"{node.name}," for node in reversed(nodes) if node is not self),
            "wsrep-provider-options":
                f'"gmcast.listen_addr=tcp://127.0.0.1:{self.replication};ist.recv_addr=127.0.0.1:{self.state};'
                'gcache.size=64M;pc.recovery=TRUE;evs.keepalive_period=PT0.1S;evs.join_retrans_period=PT0.1S;evs.inactive_check_period=PT0.1S"'}

    def is_synced(self):
        assert self.process.poll() is None, f"{self.name} has ended: {self.log()}"
        return self.status("wsrep_local_state_comment") == "Synced" and self.status("wsrep_ready") == "ON"

    def status(self, name):
        return self.ask(f"SELECT variable_value FROM information_schema.global_status WHERE variable_name = '{name}'")

    def catch_up(self, database):
        """Waits until this node has applied the cluster's commits."""
        with self.connect(database) as connection:
            connection.run("SET wsrep_sync_wait = 1")
            connection.value("SELECT version FROM schema_version")

    def cut_off(self):
        """Cuts off this node from the others, like a broken network."""
        self._isolate(1)

    def reconnect(self):
        self._isolate(0)

    def _isolate(self, value):
        self.run(f"SET GLOBAL wsrep_provider_options = 'gmcast.isolate={value}'")


def start_galera(folder, count):
    """A cluster of `count` connected nodes."""
    template = make_template(folder / "template")
    nodes = [GaleraNode(folder, f"node{number}", template, {}) for number in range(1, count + 1)]
    for node in nodes:
        node.join(nodes)
        node.make()
    for node in nodes:
        # No client writes yet, so rsync may copy the nodes; it is faster but blocks the donor.
        node.start("--wsrep-new-cluster" if node is nodes[0] else "--wsrep-sst-method=rsync")
        wait(f"{node.name} joins", node.is_synced, 120)
        if node is nodes[0]:
            _make_backup_account(node)
    return nodes


def _make_backup_account(node):
    name, password = BACKUP
    node.run(f"CREATE USER {name}@localhost IDENTIFIED BY '{password}'",
             f"GRANT RELOAD, PROCESS, BINLOG MONITOR ON *.* TO {name}@localhost")
