"""The person's steps, and their effects on others."""

import pathlib
import re
import secrets
import shlex
import subprocess

from address import Proxy
from host import DATABASE, NAME, PASSWORD, Clock  # first, because it extends the import path
from node import wait
from phone import Phone
from place import SETUP, Site
from programs import Mailbox as Folder
from turns import Services

ROOT = pathlib.Path(__file__).parents[2]
PREFERENCES = "/api/v1/device-prefs"
HOSTS_LIBRARIES = {
    "libc.so.6", "libm.so.6", "libpthread.so.0", "libresolv.so.2", "libdl.so.2", "librt.so.1", "libgcc_s.so.1"}


def main(host):
    clock, site = Clock(), Site(host)
    for step in (refuse, set_up, serve, sign_in, prefer, take_turns, check, hide, keep_edits, upgrade, restore, wake, move):
        clock.done(f"{step.__name__.replace('_', ' ')}: {step(site)}")


def refuse(site):
    """Impossible settings are refused with a sentence that says what to do, and nothing is kept."""
    host = site.host
    host.run("tar -xzf switchboard-shared.tar.gz\nmkdir inside\nprintf 'a wrong password' >wrong\nchmod 600 wrong")
    (host.home / "right").write_text(PASSWORD + "\n")
    given = ["--url", f"https://{NAME}", "--database", DATABASE, "--account", "ann_owner", "--mail-command", "none",
             "--database-server", f"127.0.0.1:{host.database.port}", "--database-password-file", host.home / "right"]
    mysql = f"127.0.0.1:{host.foreign.port}"
    cases = [
        (["--database-password-file", host.home / "wrong"], 1, "refuses the account ann_owner with this password"),
        (["--database", "other"], 1, "There is no database other, or the account ann_owner has no rights to it"),
        (["--database-server", mysql], 1, "is not MariaDB but MySQL, or one that calls itself 8.0.36"),
        (["--database-server", "127.0.0.1:9"], 1, "There is no database server at 127.0.0.1:9"),
        (["--web-folder", "/nowhere"], 1, "There is no folder /nowhere. Make it"),
        (["--web-folder", host.home], 1, "where strangers could read its keys"),
        (["--url", f"http://{NAME}"], 64, f"http://{NAME} is not the address of a site, such as https://"),
        (["--url", "switchboard"], 64, "switchboard is not the address of a site"),
        (["--database-password-file", "/nowhere"], 1, "The file /nowhere cannot be read"),
        (["--speed", "high"], 64, "There is no option --speed"),
    ]
    for options, status, sentence in cases:
        said = site.setup(*given, *options, status=status)
        assert sentence in said, f"{options}: {said}"
        assert PASSWORD not in said and "a wrong password" not in said, f"{options} prints the password"
    needs = site.folder / "share/needs"
    right = needs.read_text()
    needs.write_text(f"{right.split()[0]} 99.0\n")
    assert "the programs need glibc 99.0 or later" in site.setup(*given, status=1)
    needs.write_text(right)
    assert not list((site.folder / "etc/secrets").iterdir()), "a refused password or a key was kept"
    assert not list(host.web.iterdir()), "the web folder was changed"
    host.run("rm -rf switchboard inside wrong")
    done = subprocess.run([ROOT / "Sources/companion/setup", "--shared"], stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 64 and "see shared-hosting.md of the manual" in done.stderr, done.stderr
    return f"{len(cases) + 2} refusals"


def set_up(site):
    """Follows the page, word for word."""
    shown, typed = site.follow("Set up")
    assert site.crontab, shown
    assert typed == 7, f"{typed} answers typed\n{shown}"
    assert PASSWORD not in shown, "the password is shown"
    for path in site.folder.joinpath("etc/secrets").iterdir():
        assert path.stat().st_mode & 0o077 == 0, f"others can read {path}"
    for program in ("responder", "companion"):
        loaded = dict(re.findall(r"(\S+) => (\S+)", site.host.run(f"ldd switchboard/bin/switchboard-{program}")))
        strange = {name for name, path in loaded.items() if not path.startswith(str(site.folder))}
        assert strange <= HOSTS_LIBRARIES, f"the host has to have {strange - HOSTS_LIBRARIES}"
    return f"{typed} answers typed"


def serve(site):
    """The web server shows the site, and none of our source files."""
    site.host.start_apache()
    site.services = Services(site.host)
    variables = site.services.environment
    site.keep_secret("apns-private-key", pathlib.Path(variables.pop("APNS_PRIVATE_KEY_FILE")).read_text())
    site.keep_secret("master-api-key", secrets.token_hex(32))
    certificate = site.folder / "etc/apple.pem"
    certificate.write_bytes((site.services.apple / "certificate.pem").read_bytes())
    site.set(variables | {"APNS_CA_CERT": certificate, "https_proxy": Proxy(site.host.port).address})
    client = site.host.client()
    assert client.send("GET", "/health").expect(200)["problems"] == [
        {"name": "companion", "reason": "No companion has ended a pass yet."}]
    site.run_pass()
    health = client.send("GET", "/health").expect(200)
    assert health["status"] == "ok", health.text
    client.send("GET", "/account").expect(200)
    assert "This is Switchboard" in client.send("GET", "/").expect(200).text
    for path in ("/switchboard.cgi", "/switchboard.cgi/health", "/.htaccess", "/etc/environment"):
        answer = client.send("GET", path)
        assert answer.status in (403, 404), f"{path}: {answer.status}"
        assert "respond.sh" not in answer.text and "Rewrite" not in answer.text, f"{path} shows our source"
    for path, status in (("/pair", 403), ("/pair/phones", 403), ("/api/pair/status", 403), ("/ws", 404), ("/api/git/x", 404)):
        client.send("GET", path).expect(status)
    client.send("POST", PREFERENCES, {"long": "x" * 65536}).expect(413)
    site.host.run("mkdir -p public_html/.well-known/acme-challenge; echo proof >public_html/.well-known/acme-challenge/token")
    assert client.send("GET", "/.well-known/acme-challenge/token").expect(200).text == "proof\n"
    return health.text


def sign_in(site):
    """The mailed code arrives after a pass and signs in; a passkey signs in too."""
    phone = site.phone = Phone(site.host.client(), "ann")
    phone.sign_up()
    phone.sign_in_by_mail(site.mailbox)
    phone.make_passkey()
    phone.sign_in_by_passkey()
    phone.summary().expect(200)
    return "by a mailed code and by a passkey"


def prefer(site, phone=None):
    phone = phone or site.phone
    written = {"push_enabled": True, "preferred_models": [], "archive_cache_quota_mb": 512}
    phone.client.send("POST", PREFERENCES, written, phone.access).expect(200)
    read = phone.client.send("GET", PREFERENCES, None, phone.access).expect(200)
    assert read["archive_cache_quota_mb"] == 512, read.text
    phone.client.send("GET", PREFERENCES).expect(401)
    return read.text


def take_turns(site):
    """A turn at online-go.com is announced to the phone after a pass."""
    client, user, token = site.phone.client, "7001", f"{7001:064x}"
    games = site.services.games / user
    games.mkdir()
    (games / "1001").write_text("mine Turn 1 of 7001\n")
    master = (site.folder / "etc/secrets/master-api-key").read_text()
    key = client.send("POST", "/generate-api-key", {"user_id": user, "master_key": master}).expect(200)["api_key"]
    site.api_key = key
    client.send("POST", "/register", {"user_id": user, "device_token": token}, x_api_key=key).expect(200)
    for passes in range(1, 4):
        site.run_pass()
        if (token, "Turn 1 of 7001") in site.services.told():
            return f"told after {passes} passes"
    raise AssertionError("the turn was not told after 3 passes\n" + (site.folder / "log/companion.log").read_text())


def check(site):
    """The page's check, which finds only the losses that the page lists."""
    shown, _ = site.follow("Check")
    assert "one database account serves all programs (SWITCHBOARD_DB_ROLES=one)" in shown, shown
    assert "PROBLEM" not in shown and "All is well." in shown, shown
    for command in ("pair", "relay", "backup"):
        site.host.run(f"switchboard/bin/switchboard {command}", status=64)
    assert "mine" not in site.host.run("switchboard/bin/switchboard accounts")
    return "no fault"


def hide(site):
    """No log and no file of the web folder has a secret. The host's own access log shows whole targets, as the page says."""
    found = [*site.secrets(), PASSWORD, site.phone.access, site.phone.refresh, site.api_key]
    files = [*(site.folder / "log").iterdir(), *(site.host.folder / "apache").glob("*.log"),
             *(path for path in site.host.web.rglob("*") if path.is_file()), *(site.folder / "share").iterdir()]
    assert len(found) >= 10 and len(files) >= 5, f"{len(found)} secrets, {files}"
    for file in files:
        text = file.read_text(errors="replace")
        for secret in found:
            assert secret not in text, f"{file} has a secret"
        assert str(ROOT) not in text, f"{file} names the project's folder"
    return f"{len(found)} secrets in none of {len(files)} files"


def keep_edits(site):
    """A second setup changes nothing, and keeps the person's edits."""
    access, environment = site.host.web / ".htaccess", site.folder / "etc/environment"
    ours = access.read_text()
    access.write_text(f"# Before\n{ours}# After\n")
    environment.write_text(environment.read_text() + "# Mine\n")

    # A wrapper of the database's client that writes down its arguments, which every user of the host could see.
    client = """#!/bin/bash\nprintf '%s\\n' "$@" >>"$HOME/seen/arguments"\nexec /usr/bin/mariadb "$@" """
    site.host.run(f"mkdir seen; printf %s {shlex.quote(client)} >seen/mariadb; chmod 755 seen/mariadb")

    def all_files():
        files = [path for path in (*site.host.web.rglob("*"), *(site.folder / "etc").rglob("*")) if path.is_file()]
        return {path: path.read_bytes() for path in files}
    before = all_files()
    site.host.run(f'PATH="$HOME/seen:$PATH" {SETUP} --yes')
    assert all_files() == before, "a second setup changes files"
    seen = (site.host.home / "seen/arguments").read_text()
    assert "--defaults-file=" in seen and PASSWORD not in seen, f"arguments of the client: {seen}"
    assert not list(site.host.home.glob("tmp.*")), "the file with the password was left"
    access.write_text(f"# Before\n{ours.replace('RewriteEngine On', '')}# After\n")
    site.setup()
    assert all_files() == before, "the lines of Switchboard were not written anew"
    return f"{len(before)} files are as they were"


def upgrade(site):
    """Follows the page's section while the person is signed in. The version before had no payment keys."""
    (site.folder / "etc/secrets/payment-keys").unlink()
    site.follow("Upgrade")
    site.phone.client.send("GET", "/.well-known/jwks.json").expect(200)
    site.phone.renew()
    site.phone.summary().expect(200)
    return "the same phone is still signed in"


def restore(site):
    """Follows the page's section after the loss of the database and of the folder etc."""
    host = site.host
    (host.home / ".my.cnf").write_text(f"[client]\nsocket={host.database.socket}\n")  # the file that the host's clients read
    site.follow("Back up")
    host.database.run(f"DROP DATABASE {DATABASE}", f"CREATE DATABASE {DATABASE}")
    host.run("rm -r switchboard/etc")
    site.phone.client.send("GET", "/health").expect(500)
    site.follow("Restore")
    site.phone.summary().expect(200)
    site.phone.sign_in_by_passkey()
    for name in ("switchboard.sql", "switchboard-etc.tar.gz"):
        assert (host.home / name).stat().st_mode & 0o077 == 0, f"others can read {name}"
    return "the same phone is still signed in, and signs in again"


def wake(site):
    """Simulates the page's units: the first connection to the socket starts the companion. Cron runs nothing meanwhile."""
    host, socket = site.host, site.host.home / "wake.sock"
    site.set({"SWITCHBOARD_WAKE_SOCKET": socket})
    host.run("rm mails/*")
    with subprocess.Popen(
            host.argv(f"exec systemd-socket-activate --listen={socket} switchboard/bin/switchboard watch"),
            stderr=subprocess.PIPE, text=True) as process:
        try:
            wait("the socket", socket.exists)
            site.phone.sign_in_by_mail(Folder([host.mails]))
        finally:
            process.terminate()
            said = process.stderr.read()
    assert process.returncode == 0, said
    site.set({"SWITCHBOARD_WAKE_SOCKET": ""})
    return "a mail arrives without cron"


def move(site):
    """Moves the site below a path, and the database to a port of this machine."""
    site.host.run("mkdir -p public_html/app/switchboard")
    said = site.setup("--url", f"https://{NAME}/app/switchboard", "--web-folder", site.host.web / "app/switchboard",
                      "--database-server", f"127.0.0.1:{site.host.database.port}")
    assert f"not shown in {site.host.web} any more" in said, said
    site.host.run("rm public_html/.htaccess public_html/switchboard.cgi")
    client = site.host.client("/app/switchboard")
    client.send("GET", "/health").expect(200)
    site.host.client().send("GET", "/health").expect(404)
    phone = Phone(client, "bob")
    phone.sign_up()
    phone.sign_in_by_mail(site.mailbox)
    prefer(site, phone)
    page = client.send("GET", "/account").expect(200).text
    links = re.findall('(?:href|src|action)="(?!data:)([^"]*)"', page)
    assert links and all(link.startswith("/app/switchboard/") for link in links), links
    for link in links:
        assert site.host.client().send("GET", link).status in (200, 405), f"{link} is not there"  # a form answers 405
    text = (site.folder / "etc/environment").read_text()
    assert 'SWITCHBOARD_DB_SOCKET=""' in text, text
    faults = re.findall("^PROBLEM  (.*)$", site.host.run("switchboard/bin/switchboard check", status=1), re.MULTILINE)
    assert faults == ["the connection to the database is not encrypted: SWITCHBOARD_DB_TLS is false"], faults
    return "a phone signs in below /app/switchboard"
