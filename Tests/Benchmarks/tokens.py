"""Tokens for the devices of devices.sql."""

import base64
import hashlib
import hmac
import json
import time


def identifier(kind, number):
    """The id of an account (0), a device (1) or a session (2), as in devices.sql."""
    return f"01900000-0000-700{kind}-8000-{number:012x}"


def access_token(site, number, **changes):
    """A token with the site's signature, with some claims changed."""
    now = int(time.time())
    claims = {
        "sub": identifier(0, number),
        "iss": site.url,
        "aud": "mwsim",
        "iat": now,
        "exp": now + 86_400,
        "deviceId": f"11111111-2222-4333-8444-{number:012X}",
        "type": "access",
        "sid": identifier(2, number),
        "gen": 1,
    } | changes
    key_id, secret = site.secret("jwt-keys").split(":")
    text = f"{_segment({'alg': 'HS256', 'kid': key_id, 'typ': 'JWT'})}.{_segment(claims)}"
    key = base64.urlsafe_b64decode(secret + "=" * (-len(secret) % 4))
    return f"{text}.{_base64url(hmac.digest(key, text.encode(), hashlib.sha256))}"


def push_token(number):
    return hashlib.sha256(str(number).encode()).hexdigest()


def write_callers(path, site, numbers):
    """Writes the file that drive.lua reads."""
    path.write_text("".join(
        f"{access_token(site, number)} user{number}@example.org {push_token(number)}\n" for number in numbers))
    return path


def _segment(value):
    return _base64url(json.dumps(value, separators=(",", ":")).encode())


def _base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
