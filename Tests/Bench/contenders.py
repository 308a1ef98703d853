"""The programs that are measured, each behind an nginx with the site's own configuration."""

import os
import pathlib
import signal
import socket
import subprocess
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
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
        return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout

    def environment(self, database="switchboard"):
        """What the responder is told, as nginx/run tells it."""
        secrets = self.directory / "secrets"
        return {
            "PATH": os.environ["PATH"],
            "SWITCHBOARD_ENV": "development",
            "SWITCHBOARD_PUBLIC_URL": self.url,
            "SWITCHBOARD_DB_SOCKET": f"{self.run}/mariadb.sock",
            "SWITCHBOARD_DB_NAME": database,
            "SWITCHBOARD_DB_USER": "switchboard_responder",
            "SWITCHBOARD_DB_PASSWORD_FILE": f"{secrets}/database-responder",
            "SWITCHBOARD_JWT_KEYS_FILE": f"{secrets}/jwt-keys",
            "SWITCHBOARD_HMAC_KEYS_FILE": f"{secrets}/hmac-keys",
            "SWITCHBOARD_CREDENTIAL_KEYS_FILE": f"{secrets}/credential-keys",
            "MASTER_API_KEY_FILE": f"{secrets}/master-api-key",
        }


def children_of(pid):
    return pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


class Contender:
    """A program behind an nginx of its own. `pids` gives the processes that handle requests."""

    def __init__(self, name, port, pids):
        self.name = name
        self.port = port
        self.url = f"http://127.0.0.1:{port}/api/v1/device-prefs"
        self.pids = pids

    def cpu(self):
        """Seconds of processor time that the handler has used, without nginx and MariaDB."""
        fields = [pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in self.pids()]
        return sum(int(stat[11]) + int(stat[12]) for stat in fields) / TICKS

    def resident(self):
        """MB that the handler holds in memory."""
        status = [pathlib.Path(f"/proc/{pid}/status").read_text() for pid in self.pids()]
        return sum(int(text.split("VmRSS:")[1].split()[0]) for text in status) / 1024


class Stage:
    """Starts programs, and ends them with itself."""

    def __init__(self, state, site):
        self.directory = state / "bench"
        self.directory.mkdir()
        self.site = site
        self.processes = []
        (self.directory / "switchboard").symlink_to(ROOT / "nginx")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.send_signal(signal.SIGTERM)
        for process in self.processes:
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()

    def fastcgi(self, name, program, environment):
        """A program that takes its listening socket as fd 0. The responder too: the site's own runs in a session of its own, to
        which the scheduler may give another share."""
        path = self.directory / f"{name}.sock"
        process = self._start(name, ["spawn-fcgi", "-n", "-s", path, "-M", "0660", "--", program], environment)
        self._await(path, process)
        return Contender(name, self._nginx(name, path), lambda: [process.pid])

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
        process = self._start("PHP", ["php-fpm8.2", "--fpm-config", configuration, "--allow-to-run-as-root"], environment)
        path = self.directory / "php.sock"
        self._await(path, process)
        return Contender("PHP", self._nginx("PHP", path), lambda: children_of(process.pid))

    def _nginx(self, name, path):
        """The site's own nginx once more, for another socket: all else in its configuration is the same."""
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        text = (self.site.directory / "nginx.conf").read_text()
        text = text.replace(f"127.0.0.1:{self.site.port}", f"127.0.0.1:{port}")
        text = text.replace(f"{self.site.run}/responder.sock", str(path))
        text = text.replace(f"{self.site.run}/nginx-master.pid", f"{self.directory}/{name}-nginx.pid")
        text = text.replace(f"{self.site.directory}/log/nginx", f"{self.directory}/{name}-nginx")
        script = f'    fastcgi_param SCRIPT_FILENAME "{HERE}/handler.php";\n'
        if name == "PHP":
            text = text.replace("include switchboard/server.conf;\n", "include switchboard/server.conf;\n" + script)
        configuration = self.directory / f"{name}-nginx.conf"
        configuration.write_text(text)
        process = self._start(f"{name}-nginx", ["nginx", "-c", configuration, "-e", self.directory / f"{name}-nginx.log", "-g",
                                                "daemon off;"], dict(os.environ))
        self._await(("127.0.0.1", port), process)
        return port

    def _start(self, name, command, environment):
        with open(self.directory / f"{name}.log", "ab") as log:
            process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.processes.append(process)
        return process

    @staticmethod
    def _await(address, process):
        family = socket.AF_INET if isinstance(address, tuple) else socket.AF_UNIX
        deadline = time.monotonic() + 20
        while process.poll() is None and time.monotonic() < deadline:
            with socket.socket(family) as client:
                if client.connect_ex(address if family == socket.AF_INET else str(address)) == 0:
                    return
            time.sleep(0.02)
        raise SystemExit(f"error: {' '.join(map(str, process.args))} does not start")
