"""One-time values: their creation, the request for them, and the use of the result."""

import re
import uuid

from fastcgi import Client
from phone import Phone
from programs import CODE, DATABASE
from wallet import Shop, enroll

CONFIRMATION = re.compile(r"confirm\?token=(\S+)")


class Kind:
    """A one-time value that two requests ask for. `right` has the allowed statuses of both."""

    right = (200, 401)

    def __init__(self, race):
        self.race = race

    def client(self):
        return Client(self.race.responders[0].path)

    @staticmethod
    def winners(answers):
        return sum(answer.status < 300 for answer in answers)


class SignIn(Kind):
    """A value that gives a phone tokens. The tokens must then work and can be refreshed."""

    def works(self, client, answer, _):
        tokens = answer["tokens"] if '"tokens"' in answer.text else answer
        read = ("GET", "/api/mobile/profile", None)
        right = client.send(*read, tokens["accessToken"]).status == 200
        refreshed = client.send("POST", "/api/mobile/auth/token/refresh", {"refreshToken": tokens["refreshToken"]})
        return right and refreshed.status == 200 and client.send(*read, refreshed["accessToken"]).status == 200


class MailedCode(SignIn):
    """A mailed code signs in once."""

    def make(self):
        return self.send_code(self.race.phone())

    def send_code(self, phone):
        body = {"email": phone.email, "method": "email", **phone.device}
        phone.client.send("POST", "/api/mobile/auth/login", body).expect(200)
        self.race.companions[0].wake()
        return {"email": phone.email, "code": self.race.site.mailbox.wait(phone.email, CODE), **phone.device}

    def ask(self, client, body):
        return client.send("POST", "/api/mobile/auth/login/verify", body)


class PasskeyChallenge(MailedCode):
    """A signed challenge signs in once. The passkey's owner has a proven address."""

    def make(self):
        phone = self.race.phone()
        phone.access = self.ask(phone.client, self.send_code(phone)).expect(200)["tokens"]["accessToken"]
        phone.make_passkey()
        started = phone.client.send("POST", "/api/mobile/auth/login", {"email": phone.email, **phone.device})
        return {"credential": phone.passkey.asserted(started.expect(200)["challenge"]), **phone.device}


class SignUp(SignIn):
    """An address has one account."""

    right = (201, 409)

    def make(self):
        return {"email": f"{uuid.uuid4().hex}@example.org", "name": "Ann", "deviceName": "Phone", "platform": "ios"}

    def ask(self, client, body):
        return client.send("POST", "/api/mobile/auth/register", {"deviceId": str(uuid.uuid4()), **body})


class RefreshToken(SignIn):
    """A refresh token has one successor, even if it is sent often."""

    right = (200,)

    def make(self):
        phone = self.race.phone()
        self.address = phone.client.address
        return {"refreshToken": phone.refresh}

    def ask(self, client, body):
        client.address = self.address  # an app's calls at once come from one network; others get other tokens
        return client.send("POST", "/api/mobile/auth/token/refresh", body)

    def works(self, client, answer, value):
        client.address = self.address
        return super().works(client, answer, value)

    @staticmethod
    def winners(answers):
        return len({answer["refreshToken"] for answer in answers if answer.status == 200})


class PairingToken(Kind):
    """The token of a QR code pairs one phone."""

    def make(self):
        here = Client(self.race.responders[0].path, "127.0.0.1")
        return {"pairing_token": here.send("POST", "/api/pair/refresh").expect(200)["token"]}

    def ask(self, client, body):
        return client.send("POST", "/api/auth/exchange", body)

    def works(self, client, answer, _):
        refreshed = client.send("POST", "/api/auth/refresh", {"refresh_token": answer["refresh_token"]})
        return _is_admitted(client, answer["access_token"]) and _is_admitted(client, refreshed["access_token"])


class Ticket(PairingToken):
    """A ticket in the URL of a WebSocket admits one request."""

    right = (204, 401)

    def make(self):
        access = super().ask(self.client(), super().make()).expect(200)["access_token"]
        return access, self.client().send("POST", "/api/auth/ticket", token=access).expect(200)["ticket"]

    def ask(self, client, value):
        return client.send("GET", "/_auth", uri=f"/ws?token={value[1]}")

    def works(self, client, answer, value):
        return _is_admitted(client, value[0])


def _is_admitted(client, access):
    return client.send("GET", "/_auth", token=access, uri="/").status == 204


class Payment(Kind):
    """A payment is confirmed once."""

    right = (200, 409)

    def __init__(self, race):
        super().__init__(race)
        self.shop = Shop(race.site, race.nodes[0].socket)
        self.phone = race.phone()
        enroll(self.phone, race.companions, race.site.mailbox)

    def make(self):
        return self.shop.begin_payment(self.phone)

    def ask(self, client, payment):
        return self.shop.confirm(client, self.phone, payment)

    def works(self, client, answer, payment):
        """Whether the payment is confirmed, with the merchant's card."""
        found = self.race.rows.connection.rows(
            "SELECT t.token FROM payments p JOIN card_tokens t USING (card_id, merchant_id) "
            f"WHERE p.id = '{payment['paymentId']}' AND p.confirmed_at IS NOT NULL")
        return found == [(answer["cardToken"],)] and answer["token"].count(".") == 2


KINDS = {
    "ticket": Ticket, "mailed code": MailedCode, "pairing token": PairingToken, "payment": Payment,
    "refresh token": RefreshToken, "passkey challenge": PasskeyChallenge, "sign-up of an address": SignUp}
