"""The site, and the measured programs."""

import dataclasses
import os
import pathlib
import re
import signal
import socket
import subprocess
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# No program of a benchmark runs longer, in seconds.
LONGEST = 900
TICKS = os.sysconf("SC_CLK_TCK")


class Site:
    """The site that nginx/run has started below `state`."""

    def __init__(self, state):
        self.directory = state / "site"
        self.run = (self.directory / "run").resolve()
        self.port = int((self.run / "port").read_text())
        self.url = f"http://127.0.0.1:{self.port}"

    def secret(self, name):
        return (self.directory / "secrets" / name).read_text().strip()

    def sql(self, text, database="switchboard"):
        user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
        command = ["mariadb", "--no-defaults", "--default-character-set=utf8mb4", "-N",
                   f"--socket={self.run}/mariadb.sock", f"--user={user}", database]
        answer = subprocess.run(command, input=text, capture_output=True, text=True)
        if answer.returncode:
            raise SystemExit(f"error: {answer.stderr}")
        return answer.stdout

    def make_database(self, name, schema=ROOT / "schema.sql"):
        self.sql(f"DROP DATABASE IF EXISTS {name}; CREATE DATABASE {name} CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin", "")
        self.sql("SET @roles = 'switchboard';\n" + schema.read_text(), name)

    def seed(self, script, rows, database="switchboard", **words):
        """Runs a script after it has replaced ROWS, PART, the ids ID(n), and `words`."""
        text = re.sub(r"\bID\(([0-9a-f])\)", r"CONCAT('01900000-0000-700\1-8000-', LPAD(HEX(seq), 12, '0'))", (HERE / script).read_text())
        for word, value in {"ROWS": str(rows), "PART": str(max(1, rows // 100)), **words}.items():
            text = text.replace(word, value)
        self.sql(text, database)

    def enlarge_database(self, gigabytes):
        """Gives MariaDB memory for all rows, as on a server. The size of the redo log is the other limit of big inserts."""
        self.sql(f"SET GLOBAL innodb_buffer_pool_size = {gigabytes << 30}; SET GLOBAL innodb_log_file_size = {2 << 30}")

    def settle(self, database):
        """Brings the database into the state of one that has grown over years: pages that were filled in order have no room, so that a
        row that grows divides its page, and pages that were just written are on their way to the disk."""
        tables = self.sql("SELECT table_name FROM information_schema.tables WHERE table_type = 'BASE TABLE' AND table_schema = DATABASE()",
                          database).split()
        # A third of each page is free, as after inserts in random order.
        self.sql("SET GLOBAL innodb_fill_factor = 70; SET foreign_key_checks = 0;" + "".join(f"ALTER TABLE {table} FORCE;" for table in tables)
                 + "SET GLOBAL innodb_fill_factor = DEFAULT", database)
        self.sql("SET GLOBAL innodb_io_capacity_max = 40000, innodb_io_capacity = 40000, innodb_max_dirty_pages_pct = 0")
        end = time.monotonic() + LONGEST
        while int(self.sql("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_dirty'").split()[1]) > 100:
            if time.monotonic() > end:
                raise SystemExit(f"error: MariaDB has not written its pages within {LONGEST} s")
            time.sleep(1)
        self.sql("SET GLOBAL innodb_max_dirty_pages_pct = DEFAULT, innodb_io_capacity = DEFAULT, innodb_io_capacity_max = DEFAULT")

    def read_all(self, database):
        """Reads all rows and indexes into memory."""
        indexes = self.sql("SELECT DISTINCT table_name, index_name FROM information_schema.statistics WHERE table_schema = DATABASE()", database)
        self.sql("".join("SELECT COUNT(*) FROM {} FORCE INDEX ({});".format(*line.split("\t")) for line in indexes.splitlines()), database)

    def database_cpu(self):
        return cpu([(self.run / "mariadb.pid").read_text().strip()])

    def environment(self, database="switchboard", program="responder"):
        """The program's environment, as nginx/run sets it."""
        secrets = self.directory / "secrets"
        return {
            "PATH": os.environ["PATH"],
            "SWITCHBOARD_ENV": "development",
            "SWITCHBOARD_PUBLIC_URL": self.url,
            "SWITCHBOARD_DB_SOCKET": f"{self.run}/mariadb.sock",
            "SWITCHBOARD_DB_NAME": database,
            "SWITCHBOARD_DB_USER": f"switchboard_{program}",
            "SWITCHBOARD_DB_PASSWORD_FILE": f"{secrets}/database-{program}",
            "SWITCHBOARD_JWT_KEYS_FILE": f"{secrets}/jwt-keys",
            "SWITCHBOARD_HMAC_KEYS_FILE": f"{secrets}/hmac-keys",
            "SWITCHBOARD_CREDENTIAL_KEYS_FILE": f"{secrets}/credential-keys",
            "SWITCHBOARD_PAYMENT_KEYS_FILE": f"{secrets}/payment-keys",
            "SWITCHBOARD_COMPANION_KEYS_FILE": f"{secrets}/companion-keys",
            "SWITCHBOARD_COMPANION_PUBLIC_KEYS_FILE": f"{secrets}/companion-public-keys",
            "MASTER_API_KEY_FILE": f"{secrets}/master-api-key",
        }


def cpu(pids):
    """Seconds of processor time that the processes have used so far."""
    fields = [pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in pids]
    return sum(int(stat[11]) + int(stat[12]) for stat in fields) / TICKS


def memory(pids, figure):
    """MB in memory: now (VmRSS) or the maximum so far (VmHWM)."""
    status = [pathlib.Path(f"/proc/{pid}/status").read_text() for pid in pids]
    return sum(int(text.split(f"{figure}:")[1].split()[0]) for text in status) / 1024


def children_of(pid):
    return pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


class Contender:
    """A program behind its own nginx. `pids` returns the processes that handle requests."""

    def __init__(self, site, name, port, pids):
        self.site = site
        self.name = name
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self.pids = pids

    def cpu(self):
        """Seconds of processor time that the handler has used, without nginx and MariaDB."""
        return cpu(self.pids())

    def resident(self):
        """MB that the handler holds in memory."""
        return memory(self.pids(), "VmRSS")


@dataclasses.dataclass
class Run:
    """A program that has ended."""

    output: str
    seconds: float
    # Seconds of user and system time.
    cpu: float
    # The maximum, in MB.
    resident: float


class Stage:
    """Starts programs, and ends them when it ends."""

    def __init__(self, state, name, site, options=None):
        self.options = options
        self.directory = state / name
        self.directory.mkdir()
        self.floor = state / "floor"
        self.site = site
        self.processes = []
        (self.directory / "switchboard").symlink_to(ROOT / "nginx")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        """Ends the programs."""
        for process in reversed(self.processes):
            process.send_signal(signal.SIGTERM)
        for process in self.processes:
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
        self.processes = []

    def fastcgi(self, name, program, environment, under=()):
        """A program with its listening socket as fd 0, started by the command `under`. Also for a responder: the site's own runs in
        another session, to which the scheduler may give another share."""
        path, process = self._listening(name, [*under, program], environment)
        return Contender(self.site, name, self._nginx(name, responder=path), lambda: [process.pid])

    def relay(self, name, program, agent, under=()):
        """A relay to the agent at `agent`, HOST:PORT, started by the command `under`."""
        environment = self.site.environment(program="relay") | {"SWITCHBOARD_AGENT": agent}
        path, process = self._listening(name, [*under, program], environment)
        return Contender(self.site, name, self._nginx(name, relay=f"unix:{path}"), lambda: [process.pid])

    def without_relay(self, name, agent):
        """The same nginx, connected directly to the agent."""
        return Contender(self.site, name, self._nginx(name, relay=agent), lambda: [])

    def _listening(self, name, command, environment):
        path = self.directory / f"{name}.sock"
        process = self.start(name, ["spawn-fcgi", "-n", "-s", path, "-M", "0660", "--", *command], environment)
        self.await_socket(path, process)
        return path, process

    def php(self):
        environment = self.site.environment() | {
            "SWITCHBOARD_DB_PASSWORD": self.site.secret("database-responder"),
            "SWITCHBOARD_JWT_KEYS": self.site.secret("jwt-keys"),
        }
        settings = (HERE / "php-fpm.conf").read_text().replace("DIRECTORY", str(self.directory))
        if os.geteuid() == 0:
            settings += "user = root\ngroup = root\n"
        configuration = self.directory / "php-fpm.conf"
        configuration.write_text(settings)
        process = self.start("PHP", ["php-fpm8.2", "--fpm-config", configuration, "--allow-to-run-as-root"], environment)
        path = self.directory / "php.sock"
        self.await_socket(path, process)
        return Contender(self.site, "PHP", self._nginx("PHP", responder=path), lambda: children_of(process.pid))

    def go(self):
        program = self.directory / "handler"
        # The driver is Debian's package, without a module.
        environment = dict(os.environ) | {"GO111MODULE": "off", "GOPATH": "/usr/share/gocode",
                                          "GOCACHE": str(self.directory / "go-cache")}
        subprocess.run(["go", "build", "-o", program, "."], cwd=HERE / "handler", env=environment, check=True)
        return self.fastcgi("Go", program, self.site.environment() | {"GOMAXPROCS": "2"})

    def python(self):
        """gunicorn behind an nginx that speaks HTTP to it, on kept connections."""
        path = self.directory / "python.sock"
        process = self.start("Python", ["gunicorn", "--chdir", HERE, "--workers", "2", "--threads", "4", "--keep-alive", "10",
                                        "--bind", f"unix:{path}", "--log-level", "warning", "handler:application"],
                             self.site.environment() | {"PYTHONDONTWRITEBYTECODE": "1"})
        self.await_socket(path, process)
        return Contender(self.site, "Python", self._nginx("Python", http=path), lambda: children_of(process.pid))

    def edge(self, responder, file):
        """An nginx with the deployed settings of TLS in front of a responder's socket. It also serves `file` of the directory."""
        port = self._nginx("edge", responder=responder, file=file)
        process = self.processes[-1]
        return Contender(self.site, "edge", port, lambda: children_of(process.pid))

    def _nginx(self, name, responder=None, relay=None, http=None, file=None):
        """The site's own nginx with other sockets and otherwise the same configuration."""
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        text = (self.site.directory / "nginx.conf").read_text()
        text = text.replace(f"127.0.0.1:{self.site.port}", f"127.0.0.1:{port}")
        text = text.replace(f"{self.site.run}/responder.sock", str(responder or f"{self.site.run}/responder.sock"))
        text = text.replace(f"unix:{self.site.run}/relay.sock", relay or f"unix:{self.site.run}/relay.sock")
        text = text.replace(f"{self.site.run}/nginx-master.pid", f"{self.directory}/{name}-nginx.pid")
        text = text.replace(f"{self.site.directory}/log/web", f"{self.directory}/{name}-nginx")
        if http:
            text = text.replace("include switchboard/server.conf;\n", f"""
    set $admission ""; set $admission_retry_after "";
    location / {{
      proxy_pass http://python;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header X-Request-Id $request_id;
    }}
""").replace("http {\n", f"http {{\n  upstream python {{ server unix:{http}; keepalive 16; }}\n", 1)
        if file:
            text = text.replace(f"127.0.0.1:{port};", f"127.0.0.1:{port} ssl http2;", 1)
            text = text.replace("include switchboard/server.conf;\n", f"""
    ssl_certificate "{self.directory}/tls.crt";
    ssl_certificate_key "{self.directory}/tls.key";
    include switchboard/tls.conf;
    keepalive_requests 10000000; # h2load does not open a connection again
    location = /{file} {{ root "{self.directory}"; }}
    include switchboard/server.conf;
""")
        # PHP and Go need a parameter more than the site's programs.
        more = {"PHP": f'SCRIPT_FILENAME "{HERE}/handler.php"', "Go": "SERVER_PROTOCOL $server_protocol"}.get(name)
        if more:
            text = text.replace("include switchboard/server.conf;\n", f"include switchboard/server.conf;\n    fastcgi_param {more};\n")
        configuration = self.directory / f"{name}-nginx.conf"
        configuration.write_text(text)
        process = self.start(f"{name}-nginx", ["nginx", "-c", configuration, "-e", self.directory / f"{name}-nginx.log", "-g",
                                                "daemon off;"], dict(os.environ))
        self.await_socket(("127.0.0.1", port), process)
        return port

    def run(self, name, command, environment=None, at_most=None):
        """Runs a program to its end, or ends it after `at_most` seconds."""
        with open(self.directory / f"{name}.log", "w+") as log:
            begin = time.monotonic()
            process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            resident, pid = 0, 0
            while not pid:
                try:
                    resident = memory([process.pid], "VmHWM")
                except (OSError, IndexError):
                    pass  # it has just ended or not yet begun
                if time.monotonic() - begin > (at_most or LONGEST):
                    process.send_signal(signal.SIGKILL)
                time.sleep(0.005)
                pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            seconds = time.monotonic() - begin
            process.returncode = os.waitstatus_to_exitcode(status)
            log.seek(0)
            output = log.read()
        if process.returncode not in (0, -signal.SIGKILL if at_most else 0):
            raise SystemExit(f"error: {' '.join(map(str, command))} ends with {process.returncode}: {output[-2000:]}")
        return Run(output, seconds, usage.ru_utime + usage.ru_stime, resident)

    def start(self, name, command, environment):
        with open(self.directory / f"{name}.log", "ab") as log:
            process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.processes.append(process)
        return process

    @classmethod
    def await_socket(cls, address, process):
        family = socket.AF_INET if isinstance(address, tuple) else socket.AF_UNIX

        def answers():
            with socket.socket(family) as client:
                return client.connect_ex(address if family == socket.AF_INET else str(address)) == 0

        cls._await(answers, process)

    @classmethod
    def await_file(cls, path, process):
        """Waits until the program has written to the file."""
        cls._await(lambda: path.exists() and path.read_text(), process)

    @staticmethod
    def _await(is_ready, process):
        deadline = time.monotonic() + 20
        while process.poll() is None and time.monotonic() < deadline:
            if is_ready():
                return
            time.sleep(0.02)
        raise SystemExit(f"error: {' '.join(map(str, process.args))} does not start")
