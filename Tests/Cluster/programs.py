"""The programs of a site on a cluster: responders, companions, and fakes of outside services."""

import base64
import os
import pathlib
import re
import secrets
import socket
import subprocess

from fastcgi import NAME, Client
from node import wait

ROOT = pathlib.Path(__file__).parents[2]
DATABASE = "switchboard"
CODE = re.compile(r"code is (\d{6})")
ACCOUNTS = ("responder", "companion")


class Program:
    """A program with an inherited socket that outlives the program, as under systemd."""

    def __init__(self, folder, name, arguments, environment):
        self.name, self.arguments, self.environment = name, arguments, environment
        self.path, self.log = folder / f"{name}.sock", folder / f"{name}.log"
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.path))
        self.listener.listen(128)
        self.start()

    def start(self):
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *self.arguments], stdin=self.listener, stdout=log, stderr=log,
                env=self.environment)

    def kill(self):
        """Kills the process. New clients wait for the next process."""
        self.process.kill()
        self.process.wait()

    def wake(self):
        """Wakes a companion, like a responder."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(self.path))

    def stop(self, limit=20):
        self.process.terminate()
        try:
            self.process.wait(limit)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.listener.close()
        self.path.unlink(missing_ok=True)


class Mailbox:
    """The files that companions write instead of mails. Replaces `mailbox.Mailbox`."""

    def __init__(self, folders=()):
        self.folders = list(folders)

    def texts(self, recipient, pattern):
        """The first group of `pattern` in each matching mail to `recipient`, once per sending."""
        files = (file for folder in self.folders for file in folder.glob("*.eml"))
        texts = (text for file in files if f"To: <{recipient}>" in (text := file.read_text()))
        return [found.group(1) for text in texts if (found := pattern.search(text))]

    def wait(self, recipient, pattern, limit=20):
        wait(f"a mail to {recipient}", lambda: self.texts(recipient, pattern), limit)
        return self.texts(recipient, pattern)[0]


class Site:
    """Keys, accounts and programs. `database` is the server where the schema is applied."""

    def __init__(self, folder, binaries, database):
        self.folder, self.bin, self.database = folder, pathlib.Path(binaries), database
        self.mailbox = Mailbox()
        self.passwords = {name: secrets.token_hex(16) for name in ACCOUNTS}
        self.keys = self._make_keys()
        self.programs = []
        self._apply_schema()

    def _make_keys(self):
        def key():
            return "k1:" + base64.urlsafe_b64encode(secrets.token_bytes(32)).rstrip(b"=").decode()
        keys = {f"SWITCHBOARD_{name}_KEYS": key() for name in ("JWT", "HMAC", "CREDENTIAL", "PAYMENT", "COMPANION")}
        file = self.folder / "companion-keys"
        file.touch(0o600)
        file.write_text(keys["SWITCHBOARD_COMPANION_KEYS"] + "\n")
        public = subprocess.run(
            [self.bin / "switchboard-companion", "keys", "public", file], check=True, stdout=subprocess.PIPE, text=True)
        return keys | {
            "SWITCHBOARD_COMPANION_PUBLIC_KEYS": public.stdout.strip(), "MASTER_API_KEY": secrets.token_hex(32)}

    def _apply_schema(self):
        node = self.database
        node.run(f"CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin")
        subprocess.run(
            [ROOT / "nginx/apply-schema", "--no-defaults", "--default-character-set=utf8mb4",
             f"--socket={node.socket}", "--user=root", DATABASE], check=True, stdout=subprocess.DEVNULL)
        for name in ACCOUNTS:
            user = f"switchboard_{name}"
            node.run(
                f"CREATE USER {user}@'127.0.0.1' IDENTIFIED BY '{self.passwords[name]}'",
                f"CREATE USER {user}@localhost IDENTIFIED BY '{self.passwords[name]}'",
                *(statement for host in ("'127.0.0.1'", "localhost") for statement in (
                    f"GRANT switchboard_{name} TO {user}@{host}",
                    f"SET DEFAULT ROLE switchboard_{name} FOR {user}@{host}")))

    def environment(self, program, hosts, **more):
        """- hosts: a server's socket, or a list of hosts with ports."""
        names = {
            "responder": ("JWT", "HMAC", "CREDENTIAL", "PAYMENT", "COMPANION_PUBLIC"), "companion": ("COMPANION",)}[program]
        place = ({"SWITCHBOARD_DB_SOCKET": str(hosts)} if isinstance(hosts, pathlib.Path)
                 else {"SWITCHBOARD_DB_HOST": hosts, "SWITCHBOARD_DB_TLS": "false"})
        return {
            "PATH": os.environ["PATH"], "TZ": "UTC", "SWIFT_BACKTRACE": "enable=no",
            "SWITCHBOARD_ENV": "development", "SWITCHBOARD_PUBLIC_URL": f"https://{NAME}",
            "SWITCHBOARD_DB_NAME": DATABASE, "SWITCHBOARD_DB_USER": f"switchboard_{program}",
            "SWITCHBOARD_DB_PASSWORD": self.passwords[program], **place,
            **{f"SWITCHBOARD_{name}_KEYS": self.keys[f"SWITCHBOARD_{name}_KEYS"] for name in names},
            **({"MASTER_API_KEY": self.keys["MASTER_API_KEY"]} if program == "responder" else {}), **more}

    def respond(self, name, hosts, **more):
        """Starts a responder."""
        program = Program(
            self.folder, name, [self.bin / "switchboard-responder"], self.environment("responder", hosts, **more))
        self.programs.append(program)
        return program

    def accompany(self, name, hosts, **more):
        """Starts a companion that writes its mails to files in its own folder."""
        mails = self.folder / f"{name}-mail"
        mails.mkdir()
        self.mailbox.folders.append(mails)
        environment = self.environment(
            "companion", hosts, SWITCHBOARD_MAIL_DIRECTORY=str(mails), SWITCHBOARD_ADMINISTRATOR="cluster@example.org",
            SWITCHBOARD_OUTBOUND_ALLOW="127.0.0.0/8", **more)
        program = Program(self.folder, name, [self.bin / "switchboard-companion", "watch"], environment)
        self.programs.append(program)
        return program

    def command(self, *arguments, hosts, text="", must_succeed=True):
        """Runs a command of the companion and returns its output."""
        return subprocess.run(
            [self.bin / "switchboard-companion", *arguments], check=must_succeed, input=text, text=True,
            stdout=subprocess.PIPE, env=self.environment("companion", hosts)).stdout

    def fake(self, name, *options):
        """Starts the fake of `name`. Returns its folder."""
        folder = self.folder / name
        folder.mkdir()
        program = Program(
            self.folder, f"fake-{name}", [self.bin / "switchboard-fakes", name, "--folder", folder, *options],
            dict(os.environ))
        self.programs.append(program)
        port = folder / "port"
        wait(f"the fake of {name}", lambda: port.exists() and port.read_text().strip())
        return folder

    def wait_until_healthy(self, limit=60):
        """Waits until each responder reports a healthy site."""
        for program in self.programs:
            if "responder" in str(program.arguments[0]):
                client = Client(program.path)
                wait(f"health of {program.name}", lambda: client.send("GET", "/health").status == 200, limit)

    def stop(self):
        for program in reversed(self.programs):
            program.stop()
