"""Signs a person in at the site in STATE, and prints what the hooks need: credentials, and ids that exist."""

import json
import pathlib
import re
import sys
import time
import urllib.request
import uuid

url, state = sys.argv[1], pathlib.Path(sys.argv[2])
device, email = str(uuid.uuid4()), f"ann-{uuid.uuid4()}@example.org"
user = 1783478


def post(path, body, fields={}):
    request = urllib.request.Request(
        url + path, json.dumps(body).encode(), {"Content-Type": "application/json", **fields}
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def mailed_code():
    for _ in range(12_000):
        for mail in (state / "mail").glob("*.eml"):
            text = mail.read_text()
            code = re.search(r"code is (\d{6})$", text, re.MULTILINE)
            if email in text and code:
                return code[1]
        time.sleep(0.1)
    sys.exit("no mail with a code")


body = {"deviceId": device, "deviceName": "Phone", "platform": "ios"}
credential = post("/api/mobile/device/register", body)["deviceCredential"]
shown = {"X-Device-Credential": credential}
post("/api/mobile/auth/register", {"deviceId": device, "email": email, "name": "Ann"}, shown)
post("/api/mobile/auth/login", {"deviceId": device, "email": email}, shown)
answer = post(
    "/api/mobile/auth/login/verify", {"deviceId": device, "email": email, "code": mailed_code()}, shown
)
bearer = {"Authorization": "Bearer " + answer["tokens"]["accessToken"]}
merchant = {"x-api-key": (state / "shop/api-key").read_text().strip()}
order = {"orderId": "order-1", "amount": "12.50", "currency": "CAD"}
payment = post("/api/merchant/payment/request", order, merchant)["requestId"]
master = (state / "secrets/master-api-key").read_text().strip()
key = {"X-API-Key": post("/generate-api-key", {"user_id": user, "master_key": master})["api_key"]}
pairing = post("/api/pair/refresh", {})["token"]
paired = post("/api/auth/exchange", {"pairing_token": pairing})
phone = {"Authorization": "Bearer " + paired["access_token"]}
origin = {"Origin": "http://localhost:3000"}
turns = ["/register", "/check/", "/diagnostics/", "/users-by-token/", "/users/"]
print(
    json.dumps(
        {
            # The first start of the path counts.
            "fields": {
                "/api/push/": {**bearer, "X-Username": answer["user"]["email"], **origin},
                "/api/merchant/": {**bearer, **merchant},
                "/api/status": phone,
                "/api/auth/": phone,
                **{path: key for path in turns},
                "/api/": {**bearer},
            },
            "items": {"user_id": user, "deviceId": device, "bsimId": "test-bank", "requestId": payment},
        }
    )
)
