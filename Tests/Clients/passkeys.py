#!/usr/bin/env python3
"""Registers and uses passkeys at a site with the clients of other people: soft-webauthn, and the client of fido2.

passkeys.py URL BEARER EMAIL prints a line for each step: the client, the step, and the status of the site's answer.
"""

import json
import sys
import urllib.error
import urllib.request
from base64 import urlsafe_b64decode, urlsafe_b64encode

import fido2.features
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from fido2 import cbor
from fido2.client import Fido2Client
from fido2.cose import ES256
from fido2.ctap import CtapDevice, CtapError
from fido2.hid import CAPABILITY
from fido2.utils import sha256
from fido2.webauthn import AttestedCredentialData, AuthenticatorData
from soft_webauthn import SoftWebauthnDevice

fido2.features.webauthn_json_mapping.enabled = True

PRESENT, VERIFIED = AuthenticatorData.FLAG.UP, AuthenticatorData.FLAG.UV


def encoded(data):
    return urlsafe_b64encode(data).decode().rstrip("=")


def decoded(text):
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def signature(key, message):
    return key.sign(message, ec.ECDSA(hashes.SHA256()))


class Site:
    def __init__(self, url, bearer, email):
        self.url, self.bearer, self.email = url, bearer, email

    def post(self, path, body, bearer=None):
        """The status and the members of the answer."""
        request = urllib.request.Request(
            self.url + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        if bearer:
            request.add_header("Authorization", "Bearer " + bearer)
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def creation_options(self):
        return self.post("/api/mobile/auth/passkey/register/options", {}, self.bearer)[1]

    def register(self, name, credential):
        return self.post(
            "/api/mobile/auth/passkey/register/verify", {"credential": credential, "name": name}, self.bearer
        )[0]

    def request_options(self, device):
        device = {"deviceId": device, "deviceName": "Phone", "platform": "ios"}
        return self.post("/api/mobile/auth/login", {"email": self.email, **device})[1]["passkeyOptions"]

    def sign_in(self, device, credential):
        """The status. The next passkey is added by the new session, because it is a fresh proof."""
        body = {"credential": credential, "deviceId": device}
        status, answer = self.post("/api/mobile/auth/login/verify", body)
        self.bearer = answer.get("tokens", {}).get("accessToken", self.bearer)
        return status


def credential_json(id, **response):
    members = {name: encoded(value) for name, value in response.items()}
    return {"id": encoded(id), "rawId": encoded(id), "type": "public-key", "response": members}


class SoftWebauthn:
    """soft-webauthn, which never verifies its user."""

    def __init__(self, origin):
        self.device, self.origin = SoftWebauthnDevice(), origin

    def create(self, options):
        options["challenge"] = decoded(options["challenge"])
        options["user"]["id"] = decoded(options["user"]["id"])
        # It looks for members in this order.
        options["pubKeyCredParams"] = [{"alg": one["alg"], "type": one["type"]} for one in options["pubKeyCredParams"]]
        made = self.device.create({"publicKey": options}, self.origin)
        return credential_json(made["rawId"], **self.changed(made["response"]))

    def get(self, options):
        options["challenge"] = decoded(options["challenge"])
        used = self.device.get({"publicKey": options}, self.origin)
        return credential_json(used["rawId"], **self.changed(used["response"]))

    def changed(self, response):
        return response


class VerifyingSoftWebauthn(SoftWebauthn):
    """soft-webauthn, but with the flag that the user is verified."""

    def changed(self, response):
        if "attestationObject" in response:
            attestation = cbor.decode(response["attestationObject"])
            attestation["authData"] = self.verified(attestation["authData"])
            return {**response, "attestationObject": cbor.encode(attestation)}
        data = self.verified(response["authenticatorData"])
        signed = signature(self.device.private_key, data + sha256(response["clientDataJSON"]))
        return {**response, "authenticatorData": data, "signature": signed}

    @staticmethod
    def verified(data):
        return data[:32] + bytes([data[32] | VERIFIED]) + data[33:]


class SecurityKey(CtapDevice):
    """A security key of CTAP2 with one passkey, which verifies its user by itself."""

    capabilities = CAPABILITY.CBOR

    def __init__(self):
        self.key, self.id, self.user, self.count = None, b"a passkey of fido2", None, 0

    @classmethod
    def list_devices(cls):
        return iter([cls()])

    def call(self, cmd, data=b"", event=None, on_keepalive=None):
        command, parameters = data[0], cbor.decode(data[1:]) if data[1:] else {}
        answer = {1: self.make, 2: self.use, 4: self.describe}.get(command)
        if not answer:
            return bytes([CtapError.ERR.INVALID_COMMAND])
        try:
            return b"\0" + cbor.encode(answer(parameters))
        except CtapError as error:
            return bytes([error.code])

    def describe(self, _):
        return {1: ["FIDO_2_0"], 3: bytes(16), 4: {"rk": True, "up": True, "uv": True, "clientPin": False}, 6: [1]}

    def make(self, parameters):
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.user = parameters[3]["id"]
        made = AttestedCredentialData.create(bytes(16), self.id, ES256.from_cryptography_key(self.key.public_key()))
        data = self.data(parameters[2]["id"], parameters, made)
        return {1: "packed", 2: data, 3: {"alg": -7, "sig": signature(self.key, data + parameters[1])}}

    def use(self, parameters):
        if not self.key or self.id not in [one["id"] for one in parameters.get(3, [])]:
            raise CtapError(CtapError.ERR.NO_CREDENTIALS)
        self.count += 1
        data = self.data(parameters[1], parameters)
        credential = {"id": self.id, "type": "public-key"}
        return {1: credential, 2: data, 3: signature(self.key, data + parameters[2]), 4: {"id": self.user}}

    def data(self, party, parameters, made=None):
        options = {**parameters.get(5, {}), **parameters.get(7, {})}
        flags = PRESENT | (VERIFIED if options.get("uv") else 0) | (AuthenticatorData.FLAG.AT if made else 0)
        return AuthenticatorData.create(sha256(party.encode()), flags, self.count, made or b"")


class Fido2:
    """The client of fido2 with a security key. It reads the options itself, as a browser does."""

    def __init__(self, origin):
        self.key = SecurityKey()
        self.client = Fido2Client(self.key, origin)

    def create(self, options):
        made = self.client.make_credential(options)
        return credential_json(self.key.id, clientDataJSON=made.client_data, attestationObject=made.attestation_object)

    def get(self, options):
        used = self.client.get_assertion(options).get_response(0)
        return credential_json(
            used.credential_id,
            clientDataJSON=used.client_data,
            authenticatorData=used.authenticator_data,
            signature=used.signature,
            userHandle=used.user_handle,
        )


def main(url, bearer, email):
    site = Site(url, bearer, email)
    for number, client in enumerate([SoftWebauthn(url), VerifyingSoftWebauthn(url), Fido2(url)]):
        name, device = type(client).__name__, f"client-{number}"
        status = site.register(name, client.create(site.creation_options()))
        print(name, "registers", status)
        if status != 200:
            continue
        used = client.get(site.request_options(device))
        print(name, "signs in", site.sign_in(device, used))
        print(name, "signs in with the same assertion", site.sign_in(device, used))


if __name__ == "__main__":
    main(*sys.argv[1:])
