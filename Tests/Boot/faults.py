"""The reactions of the units to faults: they repair the fault or say what to do."""

import contextlib
import re

from load import CLIENTS
from machine import now
from phone import Phone

RESPONDER, COMPANION = "switchboard-responder.service", "switchboard-companion.service"
ADMINISTRATOR = "administrator@example.org"
ENVIRONMENT, SECRETS = "/etc/switchboard/environment", "/etc/switchboard/secrets"


def _show(site, unit, name):
    """A property of the unit."""
    return site.machine.run(f"systemctl show --property {name} --value {unit}").strip()


def _fails(site, unit, status):
    """Restarts the unit, which must fail for good with the exit status, and mail the administrator."""
    site.machine.run(f"systemctl restart {unit}", check=False)
    site.wait(f"{unit} fails", lambda: _show(site, unit, "ActiveState") == "failed")
    found = _show(site, unit, "ExecMainStatus")
    assert found == str(status), f"{unit} ended with status {found} instead of {status}"
    mailer = f"switchboard-failure@{unit}.service"
    site.wait("the mail about the failure", lambda: _show(site, mailer, "ActiveState") in ("inactive", "failed"))
    assert _show(site, mailer, "Result") == "success", site.machine.run(f"systemctl status {mailer}", check=False)


def _mailed(site, unit):
    site.mailbox.wait(ADMINISTRATOR, re.compile(rf"Subject: {re.escape(unit)} (failed)"))


def _refused_at_once(site):
    answer = site.client.send("GET", "/health")
    assert answer.status in (502, 503), f"status {answer.status}; 504 comes after the web server has waited"


@contextlib.contextmanager
def _afterwards(site, repair):
    """Repairs the damage of the stage, even after a failure."""
    try:
        yield
    finally:
        site.machine.run(repair)


def _works_again(site):
    site.machine.run(f"systemctl start {RESPONDER}")
    site.health()
    site.phone.summary().expect(200)


def _starts(site):
    """The number of starts of the companion."""
    return site.machine.run(f"journalctl --quiet --unit {COMPANION} --output cat").count(f"Starting {COMPANION}")


def malformed_setting(site):
    """Exit status 78: no restart of the responder, an immediate refusal of requests, and a mail."""
    site.machine.run(f"cp {ENVIRONMENT} /root && echo SWITCHBOARD_WORKERS=many >>{ENVIRONMENT}")
    with _afterwards(site, f"cp /root/environment {ENVIRONMENT}"):
        _fails(site, RESPONDER, 78)
        _mailed(site, RESPONDER)
        _refused_at_once(site)
        assert "SWITCHBOARD_WORKERS" in site.machine.run(f"journalctl --unit {RESPONDER} --lines 20")
    _works_again(site)
    return "refused at once with a mail; works again after the repair and a start"


def missing_secret(site):
    """The same for a missing file of secrets, without a second mail within the hour; also for the companion."""
    site.machine.run(f"mv {SECRETS}/jwt-keys {SECRETS}/companion-keys /root")
    with _afterwards(site, f"mv /root/*-keys {SECRETS}"):
        mails = len(site.mailbox.mails)
        _fails(site, RESPONDER, 243)
        _refused_at_once(site)
        assert len(site.mailbox.mails) == mails, "there is a second mail within an hour"
        _fails(site, COMPANION, 243)
        _mailed(site, COMPANION)
        site.machine.run(f"mv /root/jwt-keys {SECRETS}")
        _works_again(site)
        before = _starts(site)
        for number in range(5):  # each causes a mail and so wakes the companion
            Phone(site.client, f"waker{number}").sign_up()
        again = _starts(site) - before
        assert again <= 2, f"the companion was started {again} times for 5 wake-ups, in vain"
    site.wait_for_pass(now())
    site.mailbox.wait("waker4@example.org", re.compile("Subject: (.*)"))
    site.check()
    return "refused at once, one mail an hour; works again with the files"


def killed_responder(site):
    """Kills the responder, which loses at most the requests in progress. The administrator gets a mail."""
    kills = 5
    site.machine.run("rm -f /run/switchboard-failure/*")  # as if an hour had passed since the last mail
    with site.load as load:
        for _ in range(kills):
            site.machine.run(f"systemctl kill --signal KILL {RESPONDER}")
            load.wait_for(100)
        failures = len(load.failures)
        load.wait_for(100)
        assert len(load.failures) == failures, f"requests fail later: {load.failures[-1]}"
    assert failures <= kills * CLIENTS, f"{failures} requests failed, first: {load.failures[:3]}"
    _mailed(site, RESPONDER)
    return f"a mail; {failures} of {len(load.answers)} requests failed, the slowest took {load.slowest:.1f} s"


def ended_while_starting(site):
    """Sends SIGTERM shortly after the start, after another delay each time."""
    with site.load as load:
        for moment in range(10):
            process = _show(site, RESPONDER, "MainPID")
            site.machine.run(f"systemctl restart --no-block {RESPONDER}")
            site.wait("the restart", lambda: _show(site, RESPONDER, "MainPID") not in ("0", process))
            site.machine.run(f"sleep 0.0{moment}; systemctl kill --kill-whom main --signal TERM {RESPONDER}")
            load.wait_for(20)
    assert not load.failures, f"{len(load.failures)} of {len(load.answers)} requests failed, first: {load.failures[:3]}"
    for moment in range(20):
        site.machine.run(f"systemctl start --no-block {COMPANION}; sleep 0.{moment:02}; "
                         f"systemctl kill --signal TERM {COMPANION} || true")
        site.wait("the pass ends", lambda: _show(site, COMPANION, "ActiveState") in ("inactive", "failed"))
        result = _show(site, COMPANION, "Result")
        assert result == "success", f"SIGTERM 0.{moment:02} s after the start: {result}"
    return f"0 of {len(load.answers)} requests failed, no unit failed"


def hanging_program(site):
    """The watchdog ends a responder that hangs, but not a responder that waits for a frozen database."""
    def restarts():
        return int(_show(site, RESPONDER, "NRestarts"))

    folder = f"/run/systemd/system/{RESPONDER}.d"
    site.machine.run(f"mkdir -p {folder}; printf '[Service]\\nWatchdogSec=2s\\n' >{folder}/soon.conf; "
                     f"systemctl daemon-reload; systemctl restart {RESPONDER}")
    with _afterwards(site, f"rm -r {folder}; systemctl daemon-reload; systemctl restart {RESPONDER}"):
        before = restarts()
        site.machine.run("systemctl kill --kill-whom main --signal STOP mariadb")
        with _afterwards(site, "systemctl kill --kill-whom main --signal CONT mariadb"):
            frozen = [site.client.send("GET", "/health").status for _ in range(3)]  # each waits three seconds
        assert frozen == [503] * 3, f"status {frozen} while the database was frozen"
        assert restarts() == before, "the watchdog ended a responder that waited for the database"
        site.machine.run(f"systemctl kill --kill-whom main --signal STOP {RESPONDER}")
        site.wait("the watchdog", lambda: restarts() > before)
        site.health()
    return "ended and started again; a frozen database is 503"


STAGES = [malformed_setting, missing_secret, killed_responder, ended_while_starting, hanging_program]
