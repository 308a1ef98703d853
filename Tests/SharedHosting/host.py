"""A shared host: a database server, Apache, and a person with an account, a home, and no other rights."""

import os
import pathlib
import pwd
import socket
import subprocess
import sys
import time

sys.path += [str(pathlib.Path(__file__).parents[1] / name) for name in ("Boot", "Cluster")]
from node import Node, free_port, make_template, wait  # noqa: E402
from phone import NAME, Client  # noqa: E402
from programs import Program  # noqa: E402

DATABASE, ACCOUNT = "ann_shop", "ann_owner"
PASSWORD = r"""o"w\n'er #1 $(id) %h; é"""  # each character is special to some program on its way
MODULES = (
    "mpm_event authz_core authz_host alias dir env setenvif headers mime rewrite actions negotiation autoindex cgid "
    "unique_id ssl socache_shmcb proxy proxy_fcgi").split()


def free_user():
    """An unused user id."""
    taken = {user.pw_uid for user in pwd.getpwall()}
    return next(number for number in range(54321, 60000) if number not in taken)


class Host:
    def __init__(self, folder, binaries):
        self.folder, self.bin = folder, binaries
        self.user = free_user()
        self.home = folder / "home/ann"
        self.web = self.home / "public_html"
        self.mails = self.home / "mails"
        self.port, self.fast_port = free_port(), free_port()
        self.programs, self.apache = [], None
        self._make_home()
        template = make_template(folder / "template")
        self.database = self._server("database", template)
        self.foreign = self._server("foreign", template, version="8.0.36")  # MySQL's version string
        self._make_account()
        self._make_certificate()

    def _make_home(self):
        for path in (self.home.parent, self.home, self.web, self.mails, self.home / "bin", self.folder / "apache"):
            path.mkdir()
        sender = self.home / "bin/sendmail"
        sender.write_text(f'#!/bin/sh\nfile={self.mails}/$$-$(date +%s%N)\ncat >"$file" && mv "$file" "$file.eml"\n')
        sender.chmod(0o755)
        self.give("switchboard-shared.tar.gz")
        for path in (*self.home.rglob("*"), self.home, self.folder / "apache"):
            os.chown(path, self.user, self.user)

    def give(self, name):
        """Copies the built program into the person's home."""
        target = self.home / name
        target.write_bytes((self.folder / name).read_bytes())
        os.chown(target, self.user, self.user)

    def _server(self, name, template, **options):
        server = Node(self.folder, name, template, {"character-set-server": "latin1", "collation-server": "latin1_swedish_ci", **options})
        server.make()
        server.start()
        wait(f"the database server {name}", server.answers)
        return server

    def _make_account(self):
        password = PASSWORD.replace("\\", "\\\\").replace("'", "\\'")
        for server in (self.database, self.foreign):
            server.run("SET NAMES utf8mb4", f"CREATE DATABASE {DATABASE}", *(
                statement for host in ("127.0.0.1", "localhost") for statement in (
                    f"CREATE USER {ACCOUNT}@'{host}' IDENTIFIED BY '{password}'",
                    f"GRANT ALL ON {DATABASE}.* TO {ACCOUNT}@'{host}' WITH MAX_USER_CONNECTIONS 20")))

    def _make_certificate(self):
        self.authority, key = self.folder / "certificate.pem", self.folder / "key.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc", "-days", "90",
             "-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME}", "-keyout", key, "-out", self.authority],
            check=True, stderr=subprocess.DEVNULL)
        os.chown(key, self.user, self.user)

    def argv(self, script):
        """The command line of a shell of the person, in their home."""
        return ["setpriv", f"--reuid={self.user}", f"--regid={self.user}", "--clear-groups", "env", "-i",
                f"HOME={self.home}", "PATH=/usr/local/bin:/usr/bin:/bin", "TERM=dumb", f"TMPDIR={self.home}",
                "bash", "-c", f"cd\nset -e\n{script}"]

    def run(self, script, status=0):
        """Runs the person's commands and returns their output."""
        done = subprocess.run(self.argv(script), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        assert done.returncode == status, f"status {done.returncode} instead of {status} of {script}\n{done.stdout}"
        return done.stdout

    def start_apache(self, more=""):
        """Starts Apache with a host's usual configuration: people have their .htaccess, and CGI runs as their user."""
        run = self.folder / "apache"
        configuration = self.folder / "apache.conf"
        configuration.write_text(
            f'ServerRoot {run}\nServerName {NAME}\nPidFile {run}/pid\nMutex file:{run} default\nDefaultRuntimeDir {run}\n'
            f'ScriptSock {run}/cgi.sock\nErrorLog {run}/error.log\nListen 127.0.0.1:{self.port}\n'
            + "".join(f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n" for name in MODULES)
            + f'TypesConfig /etc/mime.types\n'
            f'LogFormat "%h %l %u %t \\"%r\\" %>s %b" common\nCustomLog {run}/access.log common\n'
            f'DocumentRoot {self.web}\n<Directory {self.web}>\n  AllowOverride All\n  Options SymLinksIfOwnerMatch\n'
            f'  Require all granted\n</Directory>\n'
            f'SSLEngine on\nSSLCertificateFile {self.authority}\nSSLCertificateKeyFile {self.folder}/key.pem\n{more}')
        self.apache = subprocess.Popen(
            ["setpriv", f"--reuid={self.user}", f"--regid={self.user}", "--clear-groups", "--pdeathsig", "TERM",
             "apache2", "-f", configuration, "-DFOREGROUND"], start_new_session=True)
        wait("Apache", self._listens)

    def _listens(self):
        assert self.apache.poll() is None, "Apache has ended: " + (self.folder / "apache/error.log").read_text()
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def client(self, below=""):
        return Client(self.authority, port=self.port, below=below)

    def fake(self, name, *options):
        """Starts the fake of `name`. Returns its folder."""
        folder = self.folder / name
        folder.mkdir()
        self.programs.append(Program(
            self.folder, f"fake-{name}", [self.bin / "switchboard-fakes", name, "--folder", folder, *options],
            dict(os.environ)))
        port = folder / "port"
        wait(f"the fake of {name}", lambda: port.exists() and port.read_text().strip())
        return folder

    def stop(self):
        for program in self.programs:
            program.stop()
        if self.apache:
            self.apache.terminate()
            self.apache.wait(20)
        for server in (self.database, self.foreign):
            server.stop()


class Clock:
    """Measures each step, and prints its duration at its end."""

    def __init__(self):
        self.began = time.monotonic()

    def done(self, sentence):
        now = time.monotonic()
        print(f"{now - self.began:5.1f} s  {sentence}", flush=True)
        self.began = now
