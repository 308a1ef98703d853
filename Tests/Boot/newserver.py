"""An administrator's rare tasks: log in to the database, get a certificate, move to a new server."""

import pathlib
import re

import page
from phone import NAME, Phone

MANUAL = pathlib.Path(__file__).parents[2] / "Sources/Manual"
UPGRADE = MANUAL / "upgrade.md"
BACKUP = "switchboard-2026-11-22.age"  # the page's example
TESTER = "tester@example.org"
AUTHORITY = "/root/authority.pem"
DROP_IN = "/etc/systemd/system/switchboard-relay.service.d"
# Pebble without artificial pauses and refusals.
PEBBLE = """
openssl req -x509 -newkey rsa:2048 -noenc -subj /CN=localhost -addext subjectAltName=DNS:localhost -days 2 \
  -keyout /root/pebble.key -out /root/pebble.crt 2>/dev/null
cat >/root/pebble.json <<'END'
{"pebble": {"listenAddress": "127.0.0.1:14000", "managementListenAddress": "127.0.0.1:15000", "httpPort": 80, "tlsPort": 443,
  "certificate": "/root/pebble.crt", "privateKey": "/root/pebble.key", "externalAccountBindingRequired": false}}
END
systemd-run --quiet --unit pebble --setenv PEBBLE_VA_NOSLEEP=1 --setenv PEBBLE_WFE_NONCEREJECT=0 pebble -config /root/pebble.json
printf 'server = https://localhost:14000/dir\\nno-verify-ssl = true\\nno-random-sleep-on-renew = true\\n' >>/etc/letsencrypt/cli.ini
"""


def block(name, words):
    """The manual page's block of commands that contains `words`."""
    found = re.findall(r"^```console\n(.*?)^```$", (MANUAL / name).read_text(), re.MULTILINE | re.DOTALL)
    return next(commands for commands in found if words in commands)


def administrator(site):
    """The data model's first login: the rows that the account can read, and those that it cannot."""
    site.machine.run("useradd alice")
    site.machine.run(f"set -e\n{block('data-model.md', 'CREATE USER')}")
    ask = "runuser -u alice -- mariadb switchboard -N -e"
    there = site.machine.run("mariadb switchboard -N -e 'SELECT COUNT(*) FROM accounts'").strip()
    seen = site.machine.run(f"{ask} 'SELECT COUNT(*) FROM every_account'").strip()
    assert seen == there != "0", f"the administrator sees {seen} of {there} accounts"
    assert site.machine.status(f"{ask} 'SELECT * FROM accounts'") != 0, "the administrator reads a table"
    return "alice logs in, and reads the views only"


def served(site):
    """The serial number of the certificate that nginx serves, which the authority must have signed."""
    return site.machine.run(
        f"openssl s_client -connect 127.0.0.1:443 -servername {NAME} -verify_hostname {NAME} -CAfile {AUTHORITY} "
        "-verify_return_error </dev/null 2>/dev/null | openssl x509 -noout -serial").strip()


def certificate(site):
    """The install page's commands for a certificate, with an authority on the machine, and a renewal."""
    run = site.machine.run
    site.apt("install certbot pebble")
    run(f"set -e\n{PEBBLE}")
    site.wait("the authority answers", lambda: site.machine.status(
        f"curl -fsk https://localhost:15000/roots/0 >{AUTHORITY}") == 0)
    run(f"set -e\n{block('install.md', 'certbot certonly')}")
    first = served(site)
    run("certbot renew --force-renewal")
    site.wait("nginx serves the renewed certificate", lambda: served(site) != first)
    run("switchboard setup --yes --certificate /etc/switchboard/tls && systemctl stop pebble")
    site.health()
    return "from nothing to a renewal that nginx serves"


def restore(site):
    """A new server with another host name takes over: the same phone signs in with the old name and certificate."""
    run = site.machine.run
    run(f"mkdir -p {DROP_IN}; printf '[Service]\\nNice=3\\n' >{DROP_IN}/nice.conf")
    make_key, back_up = page.below(UPGRADE, "Back up")
    run(make_key)
    run(f"recipient=$(age-keygen -y key.txt)\n{back_up.replace('age1…', '$recipient')}")
    run(f"mv /var/backups/switchboard-*.age {BACKUP}")
    run(f"rm -r {DROP_IN}; debconf-set-selections", text="switchboard switchboard/purge boolean true\n")
    site.apt("purge switchboard")
    said = site.apt(f"install ./{site.package.name}")
    assert "The site has no name" in said, f"a bare host name is taken: {said[-1000:]}"
    run("test ! -e /etc/nginx/sites-enabled/switchboard && switchboard setup --yes --name new.example.org")
    stop, look, act, start = page.below(UPGRADE, "Restore")
    run(f"set -e\n{stop}{look}")
    run(act, text="yes\n")
    nice = run("systemctl show --property Nice --value switchboard-relay.service").strip()
    assert nice == "3", f"the restored drop-in has no effect: Nice={nice}"
    run(f"set -e\n{start}")
    site.health()  # with the old certificate, which nginx has loaded
    site.phone.sign_in_by_passkey()
    return "the phone signs in at the new server"


def lost_keys(site):
    """All files of keys are lost and made again: people sign in again, and get mails."""
    run = site.machine.run
    unpack, *make, finish = page.below(UPGRADE, "If keys are lost")
    run(f"set -e\n{unpack}")
    run("cmp /root/files/etc/switchboard/secrets/jwt-keys /etc/switchboard/secrets/jwt-keys")
    run("cd /etc/switchboard/secrets && rm hmac-keys jwt-keys credential-keys payment-keys companion-keys companion-public-keys")
    run("set -e\n" + "".join(make))
    run(f"set -e\n{finish}".replace("YOU@EXAMPLE.ORG", TESTER))
    site.mailbox.wait(TESTER, re.compile("Subject: (.*)"))
    site.phone.summary().expect(401)
    site.phone.sign_in_by_passkey()
    dora = Phone(site.client, "dora")
    dora.sign_up()
    dora.sign_in_by_mail(site.mailbox)
    return "a phone signs in again, a mailed code arrives"


STAGES = [administrator, certificate, restore, lost_keys]
