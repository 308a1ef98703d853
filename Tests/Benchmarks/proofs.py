"""Signatures of a phone and of a passkey. All accounts of filled.sql have the same key."""

import base64
import hashlib
import hmac
import json

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

# Any number is a private key.
KEY = ec.derive_private_key(20_250_101, ec.SECP256R1())
# Flags of the authenticator data: the person is present and verified, the passkey is backed up.
USED, ATTESTED = 0x01 | 0x04 | 0x08 | 0x10, 0x40
_POINT = KEY.public_key().public_numbers()
X, Y = _POINT.x.to_bytes(32, "big"), _POINT.y.to_bytes(32, "big")
# {1: 2, 3: -7, -1: 1, -2: X, -3: Y} in CBOR (RFC 9053 §7.1.1).
COSE = bytes.fromhex("a5010203262001215820") + X + bytes.fromhex("225820") + Y
SPKI = base64.b64encode(KEY.public_key().public_bytes(
    serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)).decode()


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decoded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def signature(text):
    """Of a phone, for the challenge `text`."""
    return base64.b64encode(_signed(text.encode())).decode()


def assertion(site, challenge, credential, account):
    """A passkey's answer to the challenge in base64url; `credential` is its id, bytes, `account` the account's id."""
    data = _authenticator_data(site, USED)
    client = _client_data(site, "webauthn.get", challenge)
    return _credential(credential, clientDataJSON=client, authenticatorData=data,
                       signature=_signed(data + hashlib.sha256(client).digest()), userHandle=bytes.fromhex(account.replace("-", "")))


def creation(site, challenge, credential):
    """A new passkey with the id `credential`, 32 bytes, without an attestation statement."""
    data = (_authenticator_data(site, USED | ATTESTED) + bytes(16) + len(credential).to_bytes(2, "big") + credential +
            COSE)
    # {"fmt": "none", "attStmt": {}, "authData": data} in CBOR.
    attestation = b"\xa3cfmtdnonegattStmt\xa0hauthData\x58" + bytes([len(data)]) + data
    return _credential(credential, clientDataJSON=_client_data(site, "webauthn.create", challenge), attestationObject=attestation)


def login_code_mac(site, email, device, code):
    return hmac.digest(hmac_key(site), f"login code\n{email}\n{device}\n{code}".encode(), "sha256")


def link_token(site, purpose, *parts):
    """The token of a mailed link: see LinkToken.swift."""
    mac = hmac.digest(hmac_key(site), "\n".join([purpose, *parts]).encode(), "sha256")
    return ".".join([*parts, base64url(mac)])


def refresh_id(site, session, generation):
    return base64url(hmac.digest(hmac_key(site), f"refresh\n{session}\n{generation}".encode(), "sha256"))


def hmac_key(site):
    return decoded(site.secret("hmac-keys").split(":")[1])


def _signed(message):
    return KEY.sign(message, ec.ECDSA(hashes.SHA256()))


def _authenticator_data(site, flags):
    return hashlib.sha256(site.url.split("//")[1].split(":")[0].encode()).digest() + bytes([flags]) + bytes(4)


def _client_data(site, kind, challenge):
    return json.dumps({"type": kind, "challenge": challenge, "origin": site.url, "crossOrigin": False}).encode()


def _credential(identifier, **response):
    members = {name: base64url(value) for name, value in response.items()}
    return {"id": base64url(identifier), "rawId": base64url(identifier), "type": "public-key", "response": members}
