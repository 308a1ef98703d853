"""A small shop that takes payments, to try and to copy: Sources/Manual/shop.md explains it.

python3 shop.py DIRECTORY SITE: reads the files api-key and webhook-secret of DIRECTORY, and writes its port there.
"""
import base64, hmac, json, pathlib, re, sys, time, urllib.error, urllib.request, uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

directory, site = pathlib.Path(sys.argv[1]), sys.argv[2]
fetch = urllib.request.build_opener(urllib.request.ProxyHandler({})).open  # without a proxy: the site is on this machine
orders = {}  # the newest state of each payment; a real shop keeps them in its database
words = {"confirmed": "Paid. Thank you.", "cancelled": "Cancelled.", "expired": "Expired.", "refunded": "Paid back."}


def is_genuine(fields, body, secret):
    """Whether the site sent this webhook in the last five minutes."""
    identifier = fields.get("webhook-id", "")
    sent_at = fields.get("webhook-timestamp", "")
    if not re.fullmatch("[0-9]{1,12}", sent_at): return False
    if abs(time.time() - int(sent_at)) > 300: return False
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{identifier}.{sent_at}.".encode() + body
    code = b"v1," + base64.b64encode(hmac.digest(key, signed, "sha256"))
    given = fields.get("webhook-signature", "").encode().split()
    return any(hmac.compare_digest(code, one) for one in given)


def request_payment():
    order = {"amount": "12.50", "currency": "CAD", "orderId": str(uuid.uuid4()), "description": "A mug"}
    body = json.dumps(order | {"returnUrl": f"{address}/{order['orderId']}"}).encode()
    key = (directory / "api-key").read_text().strip()
    fields = {"x-api-key": key, "Idempotency-Key": order["orderId"], "Content-Type": "application/json"}
    request = urllib.request.Request(f"{site}/api/merchant/payment/request", body, fields)
    orders[order["orderId"]] = json.load(fetch(request))
    return order["orderId"]


def receive(event):
    """Keeps the outcome. Webhooks may arrive twice and in another order. An order may have several requests: it is paid by
    whichever is confirmed, other outcomes count for the newest one only, and nothing follows a refund.
    """
    order = orders.get(event["data"]["orderId"])
    outcome = {key: event["data"][key] for key in ("requestId", "status")}
    if order and order["status"] != "refunded" and (
        outcome["status"] == "confirmed" or outcome["requestId"] == order["requestId"]
    ):
        order.update(outcome)


def order_page(order):
    if order["status"] in words:
        return words[order["status"]]
    payment_page = fetch(order["qrCodeUrl"]).read().decode()  # shows a QR code until the payment is confirmed
    picture = re.search('<img src="data:image/png;[^>]*>', payment_page)
    return f'<a href="{order["qrCodeUrl"]}">Pay</a> {picture[0] if picture else ""}'


class Shop(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/":
            return self.answer(200, '<form method="post"><button>Buy a mug for CAD 12.50</button></form>')
        try:
            self.answer(200, order_page(orders[self.path[1:]]), Refresh="2")
        except (KeyError, urllib.error.HTTPError):
            self.answer(404, "There is no such order, or it is too late to pay.")

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path != "/webhook":
            self.answer(303, Location=f"/{request_payment()}")
        elif is_genuine(self.headers, body, (directory / "webhook-secret").read_text().strip()):
            receive(json.loads(body))
            self.answer(200)
        else:
            self.answer(401, "The webhook is not genuine.")

    def answer(self, status, text="", **fields):
        self.send_response(status)
        for name, value in ({"Content-Type": "text/html; charset=utf-8"} | fields).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(f'<!DOCTYPE html><html lang="en"><title>Shop</title><h1>Shop</h1><p>{text}</p></html>'.encode())


port_file = directory / "port"
server = ThreadingHTTPServer(("127.0.0.1", int(port_file.read_text()) if port_file.exists() else 0), Shop)
address = f"http://127.0.0.1:{server.server_port}"
port_file.write_text(f"{server.server_port}\n")
server.serve_forever()
