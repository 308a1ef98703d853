"""The stages of Tests/Boot/run with the package on a booted Debian."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import faults
import manualfaults
import monitoring
import newserver
import page
import relay
import webservers
from load import Load
from machine import Machine, now
from mailbox import Mailbox
from phone import NAME, Client, Phone
from waiting import wait

ROOT = pathlib.Path(__file__).parents[2]
PAGE = ROOT / "Sources/Manual/install.md"
RELEASE = ROOT / "Sources/Manual/release.md"
# The administrator's answers, by the text before the cursor.
ANSWERS = [
    (r"Enable AppArmor support\? \[yes/no\] $", "no"),  # msmtp's
    (r"Host name of the site(: | \[.*\]: )$", NAME),
    (r"Command that sends mail.*: $", ""),
    (r"Your e-mail address.*: $", faults.ADMINISTRATOR),
    (r"Limit the connections of each client network in the kernel, by nftables\? yes or no \[.*\]: $", "yes"),
    (r"Folder (of the certificate: |with fullchain.pem and privkey.pem \[.*\]: )$", ""),
]


class Site:
    """The site on the machine, and its users."""

    def __init__(self, state, cgroup, package, previous):
        self.state, self.package, self.previous = pathlib.Path(state), pathlib.Path(package), pathlib.Path(previous)
        self.machine = Machine(self.state / "tree", cgroup)
        self.began = None  # the time when the bare Debian had booted
        self.mailbox = self.client = self.phone = self.load = None

    def boot(self):
        state = self.machine.boot()
        self.mailbox = Mailbox()
        assert state == "running", self.machine.run("systemctl --failed --no-pager", check=False)

    def give(self, package):
        """Copies the package into the machine's /root."""
        for old in (self.machine.tree / "root").glob("*.deb"):
            old.unlink()
        shutil.copy(package, self.machine.tree / "root")

    def apt(self, command):
        return self.machine.run(f"DEBIAN_FRONTEND=noninteractive apt-get -q -y {command} 2>&1")

    @property
    def authority(self):
        """The site's self-signed certificate."""
        return self.state / "authority.pem"

    def trust(self):
        """Trusts the site's current certificate."""
        path = self.machine.run("nginx -T 2>/dev/null | sed -n 's/^ *ssl_certificate  *\\(.*\\);/\\1/p' | head -1").strip()
        self.authority.write_text(self.machine.run(f"cd /etc/nginx && cat {path}"))
        self.client = Client(self.authority)

    def health(self):
        return self.client.send("GET", "/health").expect(200)

    def listens(self):
        """Whether the web server takes connections: systemd calls some started before they do."""
        try:
            self.client.send("GET", "/health")
            return True
        except ConnectionRefusedError:
            return False

    def check(self):
        self.machine.run("switchboard check")

    def responder(self):
        """The process id of the responder inside."""
        return self.machine.run("systemctl show --property MainPID --value switchboard-responder.service").strip()

    def wait(self, what, holds):
        """Waits until `holds()`."""
        wait(what, holds, 0.1)

    def wait_for_pass(self, since):
        """Waits for the end of a companion's pass after `since`, a time in UTC."""
        self.wait("a pass of the companion", lambda: (self.health()["last_poll"] or "") > since)


def boot(site):
    site.boot()
    site.began = time.monotonic()
    return f"systemd {site.machine.run('systemctl --version').split()[1]}, no failed unit"


def install(site):
    """The install page, word for word."""
    site.give(site.previous)
    typed = followed = 0
    for heading, block in page.blocks(PAGE):
        if heading.startswith("Build"):
            continue  # on the build machine, before this test
        _, answers = page.type_at(site.machine.argv(f"set -e\n{block}"), ANSWERS)
        typed, followed = typed + answers, followed + 1
    assert followed, "the page has no block of commands"
    site.trust()
    site.health()
    assert typed <= 5, f"{typed} answers typed"
    return f"{followed} blocks of the page, {typed} answers typed, no file edited"


def limits_connections(site):
    """The kernel limits connections, as the install page has said."""
    site.wait("the rules for connections", lambda: site.machine.status(
        "systemctl is-active switchboard-connections && nft list table inet switchboard") == 0)
    checked = site.machine.run("switchboard check")
    assert "ok       the kernel limits the connections" in checked, checked


def limits_no_connections(site):
    table = site.machine.run("nft list tables")
    assert "switchboard" not in table, f"the rules for connections stay: {table}"


def limit(site):
    """The limit of connections comes back with the rules of nftables.service, ends by a word, and check tells."""
    run = site.machine.run
    run("systemctl start nftables")
    limits_connections(site)
    run("systemctl reload nftables")
    limits_connections(site)
    run("systemctl stop nftables; systemctl start nftables")
    limits_connections(site)
    run("nft flush ruleset")
    checked = run("switchboard check", check=False)
    assert "PROBLEM  the kernel no longer limits connections" in checked, checked
    run("switchboard setup --yes")  # keeps the administrator's word, as an upgrade does
    limits_connections(site)
    run("switchboard setup --yes --limit-connections no")
    limits_no_connections(site)
    assert "unset    the kernel does not limit connections" in run("switchboard check")
    run("switchboard setup --yes && systemctl stop nftables")
    limits_no_connections(site)
    # Where nft refuses the rules, as a kernel without nf_tables does, the site goes on.
    run("mount --bind /bin/false /usr/sbin/nft")
    try:
        said = run("switchboard setup --yes --limit-connections yes")
        assert "The site works without them." in said, said
        assert site.machine.status("systemctl is-enabled switchboard-connections") != 0
        site.health()
    finally:
        run("umount /usr/sbin/nft")
    run("switchboard setup --yes --limit-connections yes")
    limits_connections(site)
    return "lost rules come back or are told, the word ends them, and a kernel without nf_tables keeps the site"


def serve(site):
    """The site answers over TLS, the timer runs passes, a wake-up starts a pass at once, and check finds no problem."""
    site.wait_for_pass(now())
    site.check()
    site.machine.run("systemctl is-active switchboard-relay.socket switchboard-relay.service")
    limits_connections(site)
    site.client.send("GET", "/account").expect(200)
    return f"https://{NAME}/health: {site.health().text}"


def sign_in(site):
    """The first sign-in, with a passkey."""
    phone = site.phone = Phone(site.client, "ann")
    phone.sign_up()
    site.machine.run("systemctl stop switchboard-companion.timer")  # so that only a wake-up sends the code
    asked = time.monotonic()
    phone.sign_in_by_mail(site.mailbox)
    mailed = time.monotonic() - asked
    site.machine.run("systemctl start switchboard-companion.timer")
    phone.make_passkey()
    phone.sign_out()
    phone.sign_in_by_passkey()
    phone.summary().expect(200)
    minutes = (time.monotonic() - site.began) / 60
    assert minutes < 10, f"{minutes:.1f} minutes since the bare Debian"
    return f"{minutes:.1f} minutes since the bare Debian; the mailed code took {mailed:.1f} s"


def upgrade(site):
    """The new package replaces the previous one, which had no payment keys, while clients use the site."""
    site.give(site.package)
    site.machine.run("rm /etc/switchboard/secrets/payment-keys")
    site.load = Load(site.authority)
    began, process = now(), site.responder()
    with site.load as load:
        site.apt(f"install ./{site.package.name}")
        load.wait_for(200)
    assert site.responder() != process, "the previous responder still runs"
    assert not load.failures, f"{len(load.failures)} of {len(load.answers)} requests failed, first: {load.failures[:3]}"
    site.phone.summary().expect(200)
    site.phone.renew()
    site.client.send("GET", "/.well-known/jwks.json").expect(200)
    site.wait_for_pass(began)
    site.check()
    site.machine.run("grep -q 'worker_connections 8192; # switchboard: was 768;' /etc/nginx/nginx.conf")
    return f"0 of {len(load.answers)} requests failed, the slowest took {load.slowest:.1f} s"


def remove(site):
    """Removal keeps data and keys, and a second installation, by apt from a signed folder, uses them."""
    site.apt("remove switchboard")
    limits_no_connections(site)
    for unit in ("switchboard-responder.socket", "switchboard-responder.service", "switchboard-companion.timer",
                 "switchboard-relay.socket", "switchboard-relay.service"):
        assert site.machine.status(f"systemctl is-active {unit}") != 0, f"{unit} still runs"
    site.machine.run("nginx -t && mariadb switchboard -e 'SELECT 1' && test -s /etc/switchboard/secrets/jwt-keys")
    shutil.copytree(site.state / "apt", site.machine.tree / "srv/apt")
    for block in page.below(RELEASE, "Publish it"):
        block = block.replace("https://packages.example.org", "file:///srv/apt")
        site.machine.run(f"set -e\nexport DEBIAN_FRONTEND=noninteractive\n{block}")
    site.phone.summary().expect(200)
    site.phone.sign_in_by_passkey()
    site.check()
    return "from a signed folder, the same phone is still signed in, and signs in again"


def reboot(site):
    site.machine.power_off()
    began = now()
    site.boot()
    site.health()
    site.phone.sign_in_by_passkey()
    site.wait_for_pass(began)
    site.check()
    limits_connections(site)
    return "no failed unit, the phone signs in, connections are limited"


def purge(site):
    """A purge keeps data and keys, unless the administrator agrees to their removal."""
    site.apt("purge switchboard")
    site.machine.run("mariadb switchboard -e 'SELECT 1' && test -s /etc/switchboard/secrets/jwt-keys")
    site.apt(f"install ./{site.package.name}")
    site.trust()
    site.phone.client = site.client
    site.phone.sign_in_by_passkey()
    site.machine.run("debconf-set-selections", text="switchboard switchboard/purge boolean true\n")
    site.apt("purge switchboard")
    left = site.machine.run(
        "nft list tables; find /etc/systemd -name 'switchboard-connections*'; mariadb -N -e \"SHOW DATABASES LIKE 'switchboard%'; SELECT user FROM mysql.user WHERE user LIKE 'switchboard%'\";"
        "ls -d /etc/switchboard /etc/nginx/switchboard /etc/nginx/sites-*/switchboard* /run/switchboard /var/lib/switchboard"
        " /var/log/nginx/switchboard* 2>/dev/null; systemctl list-units --all --plain --no-legend 'switchboard*'; dpkg-query -W switchboard 2>/dev/null;"
        "grep switchboard /etc/nginx/nginx.conf; nginx -t 2>&1 | grep -v successful | grep -v 'is ok'", check=False)
    assert not left.strip(), f"a purge leaves: {left}"
    start_page = site.machine.run("curl -fsS http://127.0.0.1/")
    assert "Welcome to nginx!" in start_page, f"Debian's start page does not come back: {start_page[:200]}"
    return "kept without a yes; with it nothing is left, and Debian's start page is back"


def without_package(site):
    """The page's way without the package: the command setup in the project's directory."""
    folder = site.machine.tree / "root/project"
    for name in ("Sources", "nginx"):
        shutil.copytree(ROOT / name, folder / name)
    shutil.copy(ROOT / "schema.sql", folder)
    subprocess.run(["dpkg-deb", "--extract", site.package, site.state / "extracted"], check=True)
    shutil.copytree(site.state / "extracted/usr/bin", folder / ".build/release")
    command = re.search(r"^\S*switchboard-companion setup .*$", PAGE.read_text(), re.MULTILINE).group()
    _, typed = page.type_at(site.machine.argv(f"cd /root/project && {command}"), ANSWERS)
    site.trust()
    phone = Phone(site.client, "bob")
    phone.sign_up()
    phone.sign_in_by_mail(site.mailbox)
    site.check()
    return f"{typed} answers typed, a phone signs in"


# These stages take ten minutes, because alerts wait before they fire.
ALERTS = [monitoring.monitoring, manualfaults.manual_faults, *webservers.STAGES] if os.environ.get("SWITCHBOARD_BOOT_ALERTS") else []
STAGES = [boot, install, serve, sign_in, limit, upgrade, relay.relay, *faults.STAGES, *ALERTS, remove, reboot,
          *newserver.STAGES, purge, without_package]
NEEDED = (boot, install, serve, sign_in)  # the other stages need these


def main(state, cgroup, package, previous, *chosen):
    names = {stage.__name__.replace("_", " "): stage for stage in STAGES}
    unknown = set(chosen) - set(names)
    assert not unknown, f"there is no stage {unknown.pop()}, only {', '.join(names)}"
    stages = {name: stage for name, stage in names.items() if not chosen or name in chosen or stage in NEEDED}
    site, rows, began = Site(state, cgroup, package, previous), [], time.monotonic()
    try:
        for name, stage in stages.items():
            start = time.monotonic()
            try:
                result, note = "ok", stage(site)
            except Exception as error:
                result, note = "FAILED", f"{type(error).__name__}: {error}"
            rows.append((name, result, time.monotonic() - start, note))
            print(f"{result:6}  {rows[-1][2]:5.1f} s  {name}: {note}", flush=True)
            if result != "ok":
                print(site.machine.run("journalctl --no-pager -q -n 40 -o short-precise", check=False), flush=True)
                if stage in NEEDED:
                    break
    finally:
        site.machine.kill()
    print("\n| stage | result | seconds | |\n|---|---|---|---|")
    for name, result, seconds, note in rows:
        print(f"| {name} | {result} | {seconds:.1f} | {note.splitlines()[0] if result == 'ok' else 'see above'} |")
    print(f"| all | | {time.monotonic() - began:.1f} | |")
    sys.exit(0 if len(rows) == len(stages) and all(row[1] == "ok" for row in rows) else 1)


if __name__ == "__main__":
    main(*sys.argv[1:])
