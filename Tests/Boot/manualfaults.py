"""The manual's page Faults on the booted machine: causes each fault, and compares the reports with the page's row."""

import concurrent.futures
import json
import pathlib
import re
import secrets
import ssl
import time

import breaking
import page
from phone import NAME, Client, Phone

PAGE = pathlib.Path(__file__).parents[2] / "Sources/Manual/faults.md"
PREFERENCES = "/api/v1/device-prefs"
CODE = "code is [0-9]{6}"
# Shortens two waits: the site is checked once a minute, and a pass is missing after a minute.
SOONER = ("timeout 3 mariadb switchboard -e \"UPDATE problems SET seen_at = seen_at - INTERVAL 1 HOUR WHERE name = 'site'; "
          "UPDATE companion_status SET last_pass_at = last_pass_at - INTERVAL 50 SECOND\"")


class Row:
    """The page's row of a fault."""

    def __init__(self, cells):
        self.name, self.requests, status, self.health, self.alert, self.mended = cells
        number = re.sub(r"\bN\b", r"[\\d.]+", re.escape(status))
        self.status = re.compile(number.replace("…", r"\S*"))

    def answer(self, request):
        """The page's word for the answer to `request`."""
        if self.requests.startswith("all "):
            return self.requests.removeprefix("all ")
        return dict(part.rsplit(" ", 1) for part in self.requests.split(", "))[request]


class Person:
    """A person who uses the site before, during and after a fault."""

    def __init__(self, site, number):
        self.site = site
        self.address = f"127.0.{10 + number}.1"
        self.phone = Phone(Client(site.authority, self.address), f"person{number}-{secrets.token_hex(4)}")
        self.phone.sign_up()
        self.access = self.phone.access
        self.codes = 0  # codes that the site has promised by mail
        self.unanswered = 0  # sign-ins that waited in the responder's socket longer than nginx waited
        self.expect_service()  # the first use of a token writes a row

    def _sign_in(self):
        body = {"email": self.phone.email, "method": "email", **self.phone.device}
        answer = self.phone.client.send("POST", "/api/mobile/auth/login", body)
        self.codes += answer.status == 200
        self.unanswered += answer.status == 504
        return answer

    def answers(self):
        """The answers to three parallel requests, in the page's words. The page's fourth, a test push, needs Apple."""
        client = self.phone.client = Client(self.site.authority, self.address)
        requests = {
            "sign-in": self._sign_in,
            "read": lambda: client.send("GET", PREFERENCES, token=self.access),
            "write": lambda: client.send("POST", PREFERENCES, {"push_enabled": True}, self.access),
        }
        with concurrent.futures.ThreadPoolExecutor(len(requests)) as threads:
            sent = {name: threads.submit(send) for name, send in requests.items()}
            return {name: self._word(answer) for name, answer in sent.items()}

    def expect_service(self):
        found = self.answers()
        assert set(found.values()) == {"200"}, f"while all is well, requests get {found}"

    @staticmethod
    def _word(answer):
        try:
            return str(answer.result().status)
        except ssl.SSLCertVerificationError as error:
            assert "certificate has expired" in str(error), error
            return "refuse the certificate"

    def has_codes(self):
        """Whether each promised code has arrived, and no code for a refused sign-in."""
        with self.site.mailbox.arrived:
            texts = [text for recipients, text in self.site.mailbox.mails if self.phone.email in recipients]
        codes = sum(bool(re.search(CODE, text)) for text in texts)
        codes += int(self.site.machine.run(f"grep -lE '{CODE}' {breaking.MAILS}/*.eml 2>/dev/null | wc -l"))
        assert codes <= self.codes + self.unanswered, f"{codes} mails with codes for {self.codes} sign-ins"
        return codes >= self.codes


def _status(site):
    return site.machine.run("switchboard status", check=False)


def _health(site):
    """The status of `/health`, and the names of its problems."""
    text, _, status = site.machine.run(f"curl -sk -w '\\n%{{http_code}}' https://{NAME}/health").rpartition("\n")
    try:
        return status, {problem["name"] for problem in json.loads(text)["problems"]}
    except (ValueError, KeyError):
        return status, set()


def _alerts(site):
    """The alerts that fire, or that will fire after their rule's time."""
    answer = json.loads(site.machine.run("curl -s http://localhost:9090/api/v1/alerts"))
    return {alert["labels"]["alertname"] for alert in answer["data"]["alerts"]}


def _is_told(site, row, told):
    """Adds to `told` the reports that match `row`. Returns whether all match."""
    status, names = _health(site)
    wanted, _, name = row.health.partition(", ")
    told["status"] = told.get("status") or bool(row.status.search(_status(site)))
    told["/health"] = told.get("/health") or status == wanted and (not name or name in names)
    told["alert"] = told.get("alert") or row.alert in _alerts(site)
    return all(told.values())


def _is_well(site):
    status, names = _health(site)
    return (status == "200" and not names and site.machine.status("switchboard status") == 0 and not _alerts(site))


def _compare(site, row, person):
    """Waits until all reports of the fault match `row`."""
    found = person.answers()
    expected = {request: row.answer(request) for request in found}
    assert found == expected, f"requests get {found} instead of {expected}"
    site.machine.run(SOONER, check=False)  # not needed to notice an unavailable database
    told = {}
    try:
        site.wait("named", lambda: _is_told(site, row, told))
    except AssertionError:
        raise AssertionError(f"{told}: {row.status.pattern}, {row.health}, {row.alert}; but:\n"
                             f"{_status(site)}\n{_health(site)} {_alerts(site)}") from None


def _try(site, fault, row, number):
    """Causes a fault and repairs it. Returns the seconds until its report, and until all was well."""
    person = Person(site, number)
    began = time.monotonic()
    try:
        try:
            breaking.do(site, fault.cause)
            _compare(site, row, person)
            named = time.monotonic()
        finally:
            breaking.do(site, fault.mend)
        mended = time.monotonic()
        site.machine.run(SOONER, check=False)
        site.wait(f"all is well after: {row.mended}", lambda: _is_well(site))
        site.wait("the mails", person.has_codes)
        well = time.monotonic()
    finally:
        breaking.do(site, fault.tidy)
        site.wait("all is well without what the test has left", lambda: _is_well(site))
    person.expect_service()
    site.wait("the last mail", person.has_codes)
    return named - began, well - mended


def manual_faults(site):
    """Tries all faults without outside services, one after the other, even after a failure."""
    rows = {cells[0]: Row(cells) for cells in page.table(PAGE)}
    failed, tried = [], []
    with breaking.short_intervals(site):
        site.wait("all is well before", lambda: _is_well(site))
        for number, fault in enumerate(breaking.FAULTS):
            try:
                named, well = _try(site, fault, rows[fault.name], number)
                tried.append(named)
                print(f"        {fault.name}: named after {named:.0f} s, well {well:.0f} s after its end", flush=True)
            except Exception as error:
                failed.append(f"{fault.name}: {type(error).__name__}: {error}")
                print(f"        FAILED {failed[-1]}", flush=True)
    assert not failed, "\n".join(failed)
    return f"{len(tried)} rows of the page hold; the slowest fault was named after {max(tried):.0f} s"
