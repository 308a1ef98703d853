"""The persons of devices.sql and filled.sql, and the requests that they send."""

import hashlib
import http.client
import json
import secrets
import time
import urllib.parse

import MySQLdb
from proofs import login_code_mac, refresh_id
from tokens import access_token, identifier

ORIGIN = "http://localhost"
CODE = "123456"
MERCHANT_KEY = "msk_benchmark"


class Caller:
    """Sends requests to one responder, on one connection."""

    def __init__(self, site, contender, database, port=None):
        self.site = site
        self.connection = http.client.HTTPConnection("127.0.0.1", port or contender.port, timeout=30)
        socket = f"{site.run}/mariadb.sock"
        user = site.sql("SELECT CURRENT_USER()").split("@")[0].strip()
        self.sql_connection = MySQLdb.connect(unix_socket=socket, user=user, db=database, autocommit=True)
        before = self.rows_read()
        self.rows_of_status = self.rows_read() - before

    def sql(self, statement, *values):
        """Executes a statement with `%s` for each value, and returns the rows."""
        cursor = self.sql_connection.cursor()
        cursor.execute(statement, values)
        return cursor.fetchall()

    def rows_read(self):
        """The rows that MariaDB has read so far, for all its clients."""
        return sum(int(count) for _, count in self.sql("SHOW GLOBAL STATUS LIKE 'Handler_read%%'"))

    def lift_limits(self):
        """Deletes the counts of the limits, except the rows of filled.sql."""
        self.sql("DELETE FROM rate_limits WHERE name < 'filler'")
        self.sql("DELETE FROM rate_limits WHERE name > 'filler'")

    def send(self, method, path, body=None, form=None, fields=None):
        """The status, the fields and the text of the answer, and its seconds."""
        fields, content = dict(fields or {}), None
        if form is not None:
            content = urllib.parse.urlencode(form).encode()
            fields["Content-Type"] = "application/x-www-form-urlencoded"
        elif body is not None:
            content = json.dumps(body).encode()
            fields["Content-Type"] = "application/json"
        begin = time.perf_counter()
        self.connection.request(method, path, content, fields)
        response = self.connection.getresponse()
        text = response.read()
        return response.status, response.headers, text, time.perf_counter() - begin

    def json(self, method, path, body=None, fields=None):
        """The members of the answer to a request that prepares another."""
        status, _, text, _ = self.send(method, path, body, fields=fields)
        if status >= 400:
            raise SystemExit(f"error: {method} {path} is answered {status} {text[:300]}")
        return json.loads(text)


class Person:
    """The person of row `number`."""

    def __init__(self, caller, number):
        self.caller, self.site, self.number = caller, caller.site, number
        self.email = f"user{number}@example.org"
        self.phone = f"11111111-2222-4333-8444-{number:012X}"
        self.cookie, self.form_token = f"visit-{number}", f"form-{number}"
        self.paid = f"pay_{number:022d}"
        self.player = 1_000_000 + number
        self.device_token = sha256(str(number)).hex()
        self.passkey = sha256(f"passkey {number}")
        self.described = {"deviceId": self.phone, "deviceName": "iPhone", "platform": "ios"}
        self.merchant = {"x-api-key": MERCHANT_KEY}

    def id(self, kind):
        """ID(kind) of filled.sql."""
        return identifier(kind, self.number)

    def bearer(self):
        return {"Authorization": f"Bearer {access_token(self.site, self.number)}"}

    def fields(self, security):
        """The credentials that an operation needs: those of its first alternative. Browsers show their cookie to all pages."""
        schemes = [scheme for alternative in security for scheme in alternative]
        needed = ["browserCookie"] if "browserCookie" in schemes else list(security[0]) if security else []
        makers = {
            "accessToken": self.bearer,
            "username": lambda: {"X-Username": self.email, "Origin": ORIGIN},
            "browserCookie": lambda: {"Cookie": f"account={self.cookie}"},
            "merchantKey": lambda: self.merchant,
            "apiKey": lambda: {"X-API-Key": sha256(f"api key {self.number}").hex()},
            "pairedPhone": lambda: {"Authorization": f"Bearer {self.paired()['access_token']}"},
        }
        return {name: value for scheme in needed for name, value in makers[scheme]().items()}

    def prove(self):
        """Makes the session and the browser as fresh as after a sign-in: filling big tables takes long."""
        self.caller.sql("UPDATE sessions SET proved_at = UTC_TIMESTAMP(3) WHERE id = %s", self.id(2))
        self.caller.sql("UPDATE account_visits SET proved_at = UTC_TIMESTAMP(3) WHERE id = %s", sha256(self.cookie))

    def post(self, path, body, fields=None):
        return self.caller.json("POST", path, body, fields)

    def ask_for_code(self):
        """Asks for a code, and replaces it by CODE."""
        self.post("/api/mobile/auth/login", {"email": self.email, "method": "email", **self.described})
        self.replace_code("client_device_id", self.phone, self.phone)

    def replace_code(self, column, value, device):
        changed = self.caller.sql(f"UPDATE login_codes SET code_mac = %s WHERE {column} = %s", login_code_mac(
            self.site, self.email, device, CODE), value)
        return changed

    def browser(self, path, form):
        """Sends a form that begins a sign-in; returns the new cookie. The next form has this person's form token."""
        status, fields, text, _ = self.caller.send("POST", path, form={"token": self.form_token, **form})
        if status != 303:
            raise SystemExit(f"error: POST {path} is answered {status} {text[:300]}")
        cookie = fields["Set-Cookie"].split("=", 1)[1].split(";")[0]
        self.caller.sql("UPDATE account_visits SET form_hash = %s WHERE id = %s", sha256(self.form_token), sha256(cookie))
        return cookie

    def refresh_token(self):
        session, now = self.id(2), int(time.time())
        return access_token(self.site, self.number, type="refresh", jti=refresh_id(self.site, session, 1), exp=now + 86_400)

    def payment(self):
        """The id of a new payment that the shop requests."""
        order = {"amount": "12.50", "currency": "CAD", "orderId": secrets.token_hex(8)}
        return self.post("/api/merchant/payment/request", order, self.merchant)["requestId"]

    def approved_payment(self):
        """The id of a payment that the person has approved, and its challenge."""
        identifier = self.payment()
        answer = self.post("/api/merchant/payment/initiate", {"requestId": identifier, "cardId": self.id("d")}, self.bearer())
        return identifier, answer["challenge"]

    def paired(self):
        token = self.caller.json("GET", "/api/pair/info")["token"]
        return self.post("/api/auth/exchange", {"pairing_token": token})


def sha256(text):
    return hashlib.sha256(text.encode()).digest()


def new_name(start="new"):
    return f"{start}-{secrets.token_hex(12)}"


def new_token():
    """A device token that nobody has."""
    return secrets.token_hex(32)
