"""A shop, a bank, and people who pay with its cards."""

import re
import threading
import urllib.error
import urllib.request


class _Stay(urllib.request.HTTPRedirectHandler):
    """Follows no redirect."""

    def redirect_request(self, *_):
        return None


class Shop:
    """A merchant of the site, and a bank where people enroll their cards."""

    def __init__(self, site, host):
        folder = site.fake("bank")
        bank = f"http://127.0.0.1:{(folder / 'port').read_text().strip()}"
        site.command(
            "banks", "add", "--bsim-id", "test-bank", "--name", "Test Bank", "--client-id", "wsim",
            "--authorization-url", f"{bank}/authorize", "--token-url", f"{bank}/token", "--cards-url", f"{bank}/cards",
            hosts=host, text=(folder / "client-secret").read_text())
        printed = site.command("merchants", "add", "Shop", "--json", hosts=host)
        self.key = re.search(r'"api_?[kK]ey":\s*"([^"]+)"', printed).group(1)

    def begin_payment(self, phone):
        """Begins a payment of one dollar with the card of `phone`. It must be confirmed."""
        body = {"cardId": phone.card, "amount": 1, "currency": "CAD"}
        return self._send(phone.client, phone.access, "initiate", body).expect(200)

    def confirm(self, client, phone, payment):
        body = {"paymentId": payment["paymentId"], "credential": phone.passkey.asserted(payment["challenge"])}
        return self._send(client, phone.access, "confirm", body)

    def request(self, client, order):
        """Requests a payment of one dollar, as the shop's server. Returns its id."""
        body = {"amount": "1.00", "currency": "CAD", "orderId": order}
        return client.send("POST", "/api/merchant/payment/request", body, x_api_key=self.key).expect(201)["requestId"]

    @staticmethod
    def approve(client, phone, request):
        """Chooses the card of `phone`, without the shop's key, as the app does."""
        body = {"requestId": request, "cardId": phone.card}
        return client.send("POST", "/api/merchant/payment/initiate", body, phone.access)

    def move(self, client, request, verb):
        return client.send("POST", f"/api/merchant/payment/{request}/{verb}", x_api_key=self.key)

    def state(self, client, request):
        return client.send("GET", f"/api/merchant/payment/{request}", x_api_key=self.key)

    def _send(self, client, access, verb, body):
        return client.send("POST", f"/api/merchant/payment/{verb}", body, access, x_api_key=self.key)


def enroll(phone, companions, mailbox):
    """Proves the person's address, which payments need, and gives the person a passkey and a card. Wakes the companions until
    they have sent the code and exchanged the bank's."""
    ended = threading.Event()

    def wake():
        while not ended.wait(0.1):
            for companion in companions:
                companion.wake()

    thread = threading.Thread(target=wake)
    thread.start()
    try:
        phone.sign_in_by_mail(mailbox)
        phone.make_passkey()
        back = _back_from_bank(phone)
        path, _, form = back[back.index("/api/"):].partition("?")
        answer = phone.client.send("POST", path, form).expect(302)  # the person agrees on the page
        assert "success=true" in answer.fields["Location"], answer.fields["Location"]
    finally:
        ended.set()
        thread.join()
    phone.card = phone.send("GET", "wallet/summary").expect(200)["cards"][0]["id"]


def _back_from_bank(phone):
    """The address to which the bank sends the person back."""
    url = phone.send("POST", "enrollment/start/test-bank", {}).expect(200)["authUrl"]
    try:
        urllib.request.build_opener(_Stay).open(url)
    except urllib.error.HTTPError as answer:
        return answer.headers["Location"]
    raise AssertionError("the bank did not send the person back")
