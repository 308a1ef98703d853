"""A person's phone with TLS: signs up, reads mails, makes a passkey and signs in with it."""

import base64
import hashlib
import http.client
import json
import os
import re
import ssl
import struct
import uuid

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from waiting import LIMIT

NAME = "switchboard.example.org"


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Answer:
    def __init__(self, status, text):
        self.status, self.text = status, text

    def __getitem__(self, name):
        return json.loads(self.text)[name]

    def expect(self, status):
        assert self.status == status, f"status {self.status} instead of {status}: {self.text}"
        return self


class Client:
    """Sends HTTP requests to the site from `address` of this machine, and trusts only the certificate in `authority`."""

    def __init__(self, authority, address="127.0.0.1", port=443, below=""):
        self.context = ssl.create_default_context(cafile=authority)
        self.address, self.port = address, port
        self.below = below  # the site's path

    def send(self, method, path, body=None, token=None, limit=LIMIT, **fields):
        connection = _Connection(self, limit)
        fields = {name.replace("_", "-"): value for name, value in fields.items()}
        if token:
            fields["Authorization"] = f"Bearer {token}"
        if body is not None:
            fields["Content-Type"] = "application/json"
        try:
            connection.request(method, self.below + path, json.dumps(body) if body is not None else None, fields)
            answer = connection.getresponse()
            return Answer(answer.status, answer.read().decode())
        finally:
            connection.close()


class _Connection(http.client.HTTPSConnection):
    """A connection to the site's name at 127.0.0.1."""

    def __init__(self, client, limit):
        super().__init__(NAME, context=client.context, timeout=limit, source_address=(client.address, 0))
        connect = self._create_connection
        self._create_connection = lambda _, *rest: connect(("127.0.0.1", client.port), *rest)


class Passkey:
    """A passkey of the site, with its browser (see Tests/Support/Authenticator.swift)."""

    def __init__(self):
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.id = os.urandom(32)

    def created(self, challenge):
        point = self.key.public_key().public_numbers()
        key = (bytes.fromhex("a5010203262001215820") + point.x.to_bytes(32, "big")
               + bytes.fromhex("225820") + point.y.to_bytes(32, "big"))
        data = self._data(0x45) + bytes(16) + struct.pack(">H", len(self.id)) + self.id + key
        attestation = (b"\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData"
                       + b"\x58" + bytes([len(data)]) + data)
        return self._credential(
            clientDataJSON=base64url(self._client_data("webauthn.create", challenge)),
            attestationObject=base64url(attestation), transports=["internal"])

    def asserted(self, challenge):
        said, data = self._client_data("webauthn.get", challenge), self._data(0x05)
        signature = self.key.sign(data + hashlib.sha256(said).digest(), ec.ECDSA(hashes.SHA256()))
        return self._credential(
            clientDataJSON=base64url(said), authenticatorData=base64url(data), signature=base64url(signature),
            userHandle=None)

    def _credential(self, **response):
        return {"id": base64url(self.id), "rawId": base64url(self.id), "type": "public-key",
                "clientExtensionResults": {}, "response": response}

    @staticmethod
    def _data(flags):
        return hashlib.sha256(NAME.encode()).digest() + bytes([flags]) + bytes(4)

    @staticmethod
    def _client_data(kind, challenge):
        return json.dumps({"type": kind, "challenge": challenge, "origin": f"https://{NAME}"}).encode()


class Phone:
    """A phone, and its owner's account."""

    def __init__(self, client, name):
        self.client, self.name, self.email = client, name, f"{name}@example.org"
        self.device = {"deviceId": str(uuid.uuid4()), "deviceName": f"{name}'s phone", "platform": "ios"}
        self.access = self.refresh = self.passkey = None

    def send(self, method, path, body=None):
        """Sends a request as the signed-in person."""
        return self.client.send(method, f"/api/mobile/{path}", body, self.access)

    def sign_up(self):
        body = {"email": self.email, "name": self.name, **self.device}
        self._keep(self.send("POST", "auth/register", body).expect(201)["tokens"])

    def sign_in_by_mail(self, mailbox):
        """Signs in with a mailed code, which also proves the address."""
        body = {"email": self.email, "method": "email", **self.device}
        self.access = None
        self.send("POST", "auth/login", body).expect(200)
        code = mailbox.wait(self.email, re.compile(r"code is (\d{6})"))
        body = {"email": self.email, "code": code, **self.device}
        self._keep(self.send("POST", "auth/login/verify", body).expect(200)["tokens"])

    def make_passkey(self):
        passkey = Passkey()
        challenge = self.send("POST", "auth/passkey/register/options", {}).expect(200)["challenge"]
        self.send("POST", "auth/passkey/register/verify", {"credential": passkey.created(challenge)}).expect(200)
        self.passkey = passkey

    def sign_in_by_passkey(self):
        self.access = None
        started = self.send("POST", "auth/login", {"email": self.email, **self.device}).expect(200)
        assert started["method"] == "passkey", started.text
        body = {"credential": self.passkey.asserted(started["challenge"]), **self.device}
        self._keep(self.send("POST", "auth/login/verify", body).expect(200)["tokens"])

    def sign_out(self):
        self.send("POST", "auth/logout").expect(200)

    def renew(self):
        """Exchanges the tokens for new ones."""
        body = {"refreshToken": self.refresh}
        self._keep(self.client.send("POST", "/api/mobile/auth/token/refresh", body).expect(200))

    def summary(self):
        """The app's first screen."""
        return self.send("GET", "wallet/summary")

    def _keep(self, tokens):
        tokens = tokens if isinstance(tokens, dict) else json.loads(tokens.text)
        tokens = tokens.get("tokens", tokens)
        self.access, self.refresh = tokens["accessToken"], tokens["refreshToken"]
