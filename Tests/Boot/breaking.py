"""The faults of the manual's page Faults: an administrator causes them on a Debian, and repairs them as the page says."""

import contextlib
import datetime
import pathlib

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from phone import NAME

ENVIRONMENT, SECRETS = "/etc/switchboard/environment", "/etc/switchboard/secrets"
RESPONDER, COMPANION = "switchboard-responder", "switchboard-companion"
DATA, MAILS = "/var/lib/mysql", "/var/spool/switchboard"


class Fault:
    """A row of the page.

    `cause` and `mend` are commands, or functions of the site. `tidy` removes what the test leaves after the repair.
    """

    def __init__(self, name, cause, mend, tidy=""):
        self.name, self.cause, self.mend, self.tidy = name, cause, mend, tidy


def do(site, how):
    """Runs the command or calls the function."""
    if callable(how):
        how(site)
    elif how:
        site.machine.run(f"set -e\n{how}")


# The database ---------------------------------------------------------------------------------------------------------

# Moves the data to a small disk. The audit log takes rows until its pages are full. Copies no holes: MariaDB 11.8 crashes
# if the disk has no room for a part of its redo log. Waits for the end of the checks that Debian starts with the server:
# they write too.
FILL = f"""
systemctl stop mariadb
cp -a {DATA} {DATA}.aside
mount -t tmpfs -o size=500m tmpfs {DATA}
cp -a --sparse=never {DATA}.aside/. {DATA}
systemctl start mariadb
while pgrep -f '[d]ebian-start' >/dev/null; do sleep 0.2; done
dd if=/dev/zero of={DATA}/filler bs=64k 2>&1 | grep -q 'No space left on device'
mariadb switchboard --delimiter=// -e "BEGIN NOT ATOMIC
  DECLARE EXIT HANDLER FOR 1114 BEGIN END;
  LOOP
    INSERT INTO audit_log (at, event, request_id, address) VALUES (UTC_TIMESTAMP(3), 'e', 'r', 'a');
  END LOOP;
END"
"""
EMPTY = f"""
systemctl stop mariadb
rm -r {DATA}.aside
cp -a {DATA} {DATA}.aside
umount {DATA}
rm -r {DATA}
mv {DATA}.aside {DATA}
systemctl start mariadb
"""
# Other clients take each free connection.
CROWD = f"""
mariadb -e 'SET GLOBAL max_connections = 10'
systemctl stop {RESPONDER}.service switchboard-relay.service
systemd-run --quiet --unit crowd bash -c \
  'for n in {{1..16}}; do while :; do mariadb -e "SELECT SLEEP(600)"; sleep 0.1; done & done; wait'
while mariadb -e 'DO 0'; do sleep 0.1; done
systemctl start {RESPONDER}.service switchboard-relay.service
"""
DATABASE = [
    Fault("MariaDB is killed and does not start",
          "systemctl mask --quiet --runtime mariadb; systemctl kill --signal KILL mariadb",
          "systemctl unmask --quiet --runtime mariadb; systemctl start mariadb"),
    Fault("MariaDB's disk is full", FILL, f"rm {DATA}/filler", EMPTY),
    Fault("MariaDB hangs (frozen)", "systemctl kill --kill-whom main --signal STOP mariadb",
          "systemctl kill --kill-whom main --signal CONT mariadb"),
    Fault("MariaDB is read-only", "mariadb -e 'SET GLOBAL read_only = 1'", "mariadb -e 'SET GLOBAL read_only = 0'"),
    Fault("MariaDB has no connection left", CROWD, "systemctl stop crowd", "mariadb -e 'SET GLOBAL max_connections = 151'"),
    Fault("The schema has another version", "mariadb switchboard -e 'UPDATE schema_version SET version = version - 1'",
          "switchboard setup --yes"),
]

# The programs ---------------------------------------------------------------------------------------------------------


def wrong_password(program, unit):
    """The fault of different passwords for the account and in the program's file."""
    account, file, restart = f"switchboard_{program}@localhost", f"{SECRETS}/database-{program}", f"systemctl restart {unit}"
    return Fault(
        f"The {program} has a wrong password for the database",
        f"mariadb -e \"ALTER USER {account} IDENTIFIED BY 'right'\"; (umask 077; echo wrong >{file}); {restart} || true",
        f"echo right >{file}; {restart}",
        f"mariadb -e 'ALTER USER {account} IDENTIFIED VIA unix_socket'; rm {file}; {restart}")


# Like a rotation of keys without a restart of the companion.
OTHER_KEYS = f"""
cp -a {SECRETS}/companion-keys {SECRETS}/companion-public-keys /root
(umask 077; echo "other:$(openssl rand 32 | basenc --base64url | tr -d =)" >/root/other-keys)
switchboard keys public /root/other-keys >{SECRETS}/companion-public-keys
systemctl restart {RESPONDER}
"""
PROGRAMS = [
    wrong_password("responder", RESPONDER),
    Fault("The responder is killed and does not start",
          f"mv /usr/bin/{RESPONDER} /root; systemctl kill --signal KILL {RESPONDER}",
          f"mv /root/{RESPONDER} /usr/bin; systemctl restart {RESPONDER}"),
    Fault("The responder seals for keys that the companion does not have", OTHER_KEYS,
          f"cat /root/other-keys >>{SECRETS}/companion-keys",
          f"mv /root/companion-keys /root/companion-public-keys {SECRETS}; systemctl restart {RESPONDER}"),
    Fault("The file of the companion's keys is lost", f"mv {SECRETS}/companion-keys /root",
          f"mv /root/companion-keys {SECRETS}"),
    Fault("The companion is killed and does not start",
          f"systemctl stop {COMPANION}.timer {COMPANION}.socket; systemctl kill --signal KILL {COMPANION} || true",
          f"systemctl start {COMPANION}.timer"),
    wrong_password("companion", COMPANION),
]

# The certificate ------------------------------------------------------------------------------------------------------


def _served(site):
    """The files of the certificate and of its key in nginx's configuration."""
    found = site.machine.run("nginx -T 2>/dev/null | sed -nE 's/^ *(ssl_certificate(_key)? .*);/\\1/p' | sort -u").split()
    assert len(found) == 4, found
    return [pathlib.PurePosixPath("/etc/nginx", path) for path in found[1::2]]


def _reload(site, chain):
    """Makes nginx serve the certificate in the file, and clients trust it too."""
    told = "openssl x509 -noout -fingerprint -sha256"
    wanted = site.machine.run(f"{told} -in {chain}")
    site.machine.run("systemctl reload nginx")
    site.wait("nginx serves the certificate", lambda: site.machine.run(
        f"openssl s_client -connect 127.0.0.1:443 -servername {NAME} </dev/null 2>/dev/null | {told}", check=False) == wanted)
    site.authority.write_text(site.machine.run(f"cat {chain}"))


def let_expire(site):
    """Replaces setup's certificate with one that has expired, as after 825 days, and changes the companion's fingerprint."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.utcnow()
    name = x509.Name([x509.NameAttribute(x509.NameOID.ORGANIZATION_NAME, "Switchboard, self-signed")])
    made = (x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=826)).not_valid_after(now - datetime.timedelta(days=1))
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False).sign(key, hashes.SHA256()))
    chain, private = _served(site)
    pin = made.fingerprint(hashes.SHA256()).hex()
    site.machine.run(f"cp -a {chain} /root/chain; cp -a {private} /root/private; cp -a {ENVIRONMENT} /root; "
                     f"sed -i '/^SWITCHBOARD_CERTIFICATE_FINGERPRINT=/s/=.*/={pin}/' {ENVIRONMENT}")
    form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    site.machine.run(f"cat >{private}", text=key.private_bytes(*form).decode())
    site.machine.run(f"cat >{chain}", text=made.public_bytes(form[0]).decode())
    _reload(site, chain)


def renew(site):
    chain, private = _served(site)
    site.machine.run(f"mv /root/chain {chain}; mv /root/private {private}; mv /root/environment {ENVIRONMENT}")
    _reload(site, chain)


# Mail -----------------------------------------------------------------------------------------------------------------

FULL_MAILS = f"""
cp -a {ENVIRONMENT} /root
mkdir {MAILS}
mount -t tmpfs -o size=1m,mode=700,uid=switchboard_companion tmpfs {MAILS}
printf '[Service]\\nReadWritePaths={MAILS}\\n' >/run/systemd/system/{COMPANION}.service.d/mails.conf
sed -i 's|^SWITCHBOARD_MAIL_COMMAND=.*|SWITCHBOARD_MAIL_DIRECTORY={MAILS}|' {ENVIRONMENT}
systemctl daemon-reload
dd if=/dev/zero of={MAILS}/filler bs=64k 2>&1 | grep -q 'No space left on device'
"""
COMMAND_AGAIN = f"""
mv /root/environment {ENVIRONMENT}
. {ENVIRONMENT}
for mail in {MAILS}/*.eml; do $SWITCHBOARD_MAIL_COMMAND <"$mail"; done
rm /run/systemd/system/{COMPANION}.service.d/mails.conf
systemctl daemon-reload
umount {MAILS}
rmdir {MAILS}
"""
OUTSIDE = [
    Fault("The site's certificate has expired", let_expire, renew),
    Fault("The mail command ends with 75", lambda site: site.mailbox.close(), lambda site: site.mailbox.listen()),
    Fault("The mail command hangs", lambda site: site.mailbox.answers.clear(), lambda site: site.mailbox.answers.set()),
    Fault("The disk of SWITCHBOARD_MAIL_DIRECTORY is full", FULL_MAILS, f"rm {MAILS}/filler", COMMAND_AGAIN),
]
FAULTS = [*DATABASE, *PROGRAMS, *OUTSIDE]

# Short intervals ------------------------------------------------------------------------------------------------------

SHORT = f"""
cp -a {ENVIRONMENT} /root/environment.long
cp -a /etc/prometheus/prometheus.yml /root
echo CHECK_INTERVAL_SECONDS=5 >>{ENVIRONMENT}
mkdir -p /run/systemd/system/{COMPANION}.timer.d /run/systemd/system/{COMPANION}.service.d
printf '[Timer]\\nOnUnitActiveSec=\\nOnActiveSec=0\\nOnUnitActiveSec=5s\\n' >/run/systemd/system/{COMPANION}.timer.d/short.conf
sed -i -E 's/^(  (scrape|evaluation)_interval:) *15s/\\1 2s/' /etc/prometheus/prometheus.yml
systemctl daemon-reload
systemctl restart {COMPANION}.timer {RESPONDER}
systemctl reload prometheus
"""
LONG = f"""
mv /root/environment.long {ENVIRONMENT}
mv /root/prometheus.yml /etc/prometheus
rm -r /run/systemd/system/{COMPANION}.timer.d /run/systemd/system/{COMPANION}.service.d
systemctl daemon-reload
systemctl restart {COMPANION}.timer {RESPONDER}
systemctl reload prometheus
"""


@contextlib.contextmanager
def short_intervals(site):
    """Sets an interval of five seconds for passes, and of two seconds for Prometheus."""
    site.machine.run(f"set -e\n{SHORT}")
    try:
        yield
    finally:
        site.machine.run(LONG)
