"""A request for each operation of /openapi.json: its path items, query, body and fields, and what must exist before."""

import json
import re
import secrets

import proofs
from callers import CODE, ORIGIN, new_name, new_token, sha256
from preferences import BODY

LEFT_OUT = {
    "enrollAttestedKey": "needs an attestation that Apple has signed",
    "checkAttestedKey": "needs a key that Apple has attested",
    "testPush": "waits for the companion and for Apple",
    "checkTurns": "waits for the companion and for online-go.com",
    "finishEnrollment": "asks a bank",
    "finishConfirmedEnrollment": "asks a bank",
    "admitToAgent": "only nginx calls it",
    "agentSocket": "the agent answers",
    "agentPath": "the agent answers",
    "agentPath2": "the agent answers",
    "agentPath3": "the agent answers",
    "agentPath4": "the agent answers",
    "agentPath5": "the agent answers",
}

# Each takes a person and returns the parts of the request. An operation that is not listed needs nothing but credentials.
RECIPES = {}


def recipe(*names):
    """Makes a function the recipe of these operations."""
    def keep(function):
        RECIPES.update({name: function for name in names})
        return function
    return keep


# Accounts -------------------------------------------------------------------------------------------------------------


recipe("registerDevice")(lambda p: {"body": {**p.described, "deviceId": new_name()}})
recipe("setPushToken")(lambda p: {"body": {"deviceId": p.phone, "pushToken": new_token(), "platform": "ios"}})
recipe("clearPushToken2", "revokeDevice")(lambda p: {"items": {"deviceId": p.phone}})
recipe("renameDevice")(lambda p: {"items": {"deviceId": p.phone}, "body": {"name": "Another name"}})
recipe("changeProfile")(lambda p: {"body": {"name": "Another name"}})
recipe("createAccount")(lambda p: {
    "body": {**p.described, "deviceId": new_name(), "email": f"{new_name()}@example.org", "name": "Ann"}})
recipe("startSignIn")(lambda p: {"body": {**p.described, "email": p.email, "method": "email"}})
recipe("setUpBiometrics")(lambda p: {"body": {"deviceId": p.phone, "biometricType": "face", "publicKey": proofs.SPKI}})
recipe("removeBiometrics", "logOut")(lambda p: {"body": {}})
recipe("requestChallenge")(lambda p: {"body": {"deviceId": p.phone}})
recipe("removePasskey")(lambda p: {"items": {"id": p.id("a")}})
recipe("renamePasskey")(lambda p: {"items": {"id": p.id("a")}, "body": {"name": "Another name"}})
recipe("refreshTokens")(lambda p: {"body": {"refreshToken": p.refresh_token()}})


@recipe("signIn", "signInWithPassword")
def _(p):
    p.ask_for_code()
    return {"body": {**p.described, "email": p.email, "code": CODE, "password": CODE}}


@recipe("signInWithBiometrics")
def _(p):
    challenge = p.post("/api/mobile/auth/biometric/challenge", {"deviceId": p.phone})["challenge"]
    return {"body": {"deviceId": p.phone, "challenge": challenge, "signature": proofs.signature(challenge)}}


@recipe("registerPasskey")
def _(p):
    challenge = p.post("/api/mobile/auth/passkey/register/options", {}, p.bearer())["challenge"]
    return {"body": {"name": "Passkey", "credential": proofs.creation(p.site, challenge, secrets.token_bytes(32))}}


@recipe("askForConfirmation", "confirmAccount")
def _(p):
    p.caller.sql("UPDATE accounts SET email_verified_at = NULL WHERE id = %s", p.id(0))
    token = proofs.link_token(p.site, "e-mail confirmation", p.id(0))
    return {"query": {"token": token}, "form": {"token": token, "answer": "yes"}}


@recipe("askWhetherToEnd", "endByLink")
def _(p):
    token = proofs.link_token(p.site, "end of a session", p.id(2), "")
    return {"query": {"token": token}, "form": {"token": token}}


@recipe("askForAddressChange", "changeAddress")
def _(p):
    token = new_name()
    p.caller.sql("REPLACE INTO address_changes (account_id, email, token_hash, expires_at) "
                 "VALUES (%s, %s, %s, UTC_TIMESTAMP(3) + INTERVAL 1 DAY)", p.id(0), f"{token}@example.org", sha256(token))
    return {"query": {"token": token}, "form": {"token": token}}


# The page /account ----------------------------------------------------------------------------------------------------


def form(p, **items):
    return {"form": {"token": p.form_token, **items}}


recipe("askForCode")(lambda p: form(p, email=p.email))
recipe("askForPasskey", "confirmDeletion", "signOut")(form)
recipe("changeName")(lambda p: form(p, name="Another name"))
recipe("askForAddress")(lambda p: form(p, email=f"{new_name()}@example.org"))
recipe("askForRemoval")(lambda p: {"query": {"kind": "passkeys", "id": p.id("a")}})
recipe("removeItem")(lambda p: form(p, kind="passkeys", id=p.id("a")))


@recipe("signInWithCode")
def _(p):
    cookie = p.browser("/account/code", {"email": p.email})
    p.replace_code("challenge_hash", sha256(cookie), f"browser {sha256(cookie).hex()}")
    return {**form(p, code=CODE), "fields": {"Cookie": f"account={cookie}"}}


@recipe("signInWithPasskey")
def _(p):
    cookie, challenge = p.browser("/account/passkey", {}), new_name()
    p.caller.sql("UPDATE account_visits SET challenge_hash = %s WHERE id = %s", sha256(challenge), sha256(cookie))
    credential = proofs.assertion(p.site, proofs.base64url(challenge.encode()), p.passkey, p.id(0))
    return {**form(p, credential=json.dumps(credential)), "fields": {"Cookie": f"account={cookie}"}}


# Preferences, attestation, push ---------------------------------------------------------------------------------------


SUBSCRIPTION = {"keys": {"p256dh": proofs.base64url(b"\x04" + proofs.X + proofs.Y), "auth": proofs.base64url(bytes(16))}}
PREFLIGHT = {"fields": {"Origin": ORIGIN, "Access-Control-Request-Method": "POST"}}

recipe("postPreferences")(lambda p: {"body": json.loads(BODY)})
recipe("registerPushToken", "addPushToken")(lambda p: {"body": {"platform": "ios", "token": new_token()}})
recipe("requestAttestationChallenge")(lambda p: {"body": {"platform": "ios", "bundle_id": "org.example.app"}})
recipe("getVAPIDKey")(lambda p: {"fields": {"Origin": ORIGIN}})
recipe("removePushTokens")(lambda p: {"body": {}})
recipe("answerPreflight", *(f"answerPreflight{number}" for number in range(2, 6)))(lambda p: PREFLIGHT)
recipe("addWebSubscription")(lambda p: {"body": {"endpoint": f"https://fcm.googleapis.com/fcm/send/{new_name()}", **SUBSCRIPTION}})


@recipe("removeWebSubscription")
def _(p):
    body = RECIPES["addWebSubscription"](p)["body"]
    p.post("/api/push/subscribe", body, p.fields([{"accessToken": [], "username": []}]))
    return {"body": {"endpoint": body["endpoint"]}}


# Wallet ---------------------------------------------------------------------------------------------------------------


recipe("makeCardDefault", "removeCard")(lambda p: {"items": {"id": p.id("e")}})
recipe("startEnrollment", "startEnrollmentInApp")(lambda p: {"items": {"bsimId": "bank"}})
recipe("removeEnrollment")(lambda p: {"items": {"id": p.id("c")}})
recipe("requestPayment")(lambda p: {"body": {"amount": "12.50", "currency": "CAD", "orderId": new_name()}})
recipe("getMerchantPayment", "refundMerchantPayment")(lambda p: {"items": {"requestId": p.paid}, "body": {}})
recipe("getPayment", "cancelPayment", "cancelMerchantPayment", "getPaymentPage")(lambda p: {"items": {"requestId": p.payment()}})
recipe("approvePayment")(lambda p: {"items": {"requestId": p.payment()}, "body": {"cardId": p.id("d")}})
recipe("initiatePayment")(lambda p: {"body": {"requestId": p.payment(), "cardId": p.id("d")}})


@recipe("confirmPayment")
def confirmation(p):
    payment, challenge = p.approved_payment()
    return {"body": {"requestId": payment, "deviceId": p.phone, "signature": proofs.signature(challenge)}}


@recipe("verifyStatement")
def _(p):
    return {"body": {"token": p.post("/api/merchant/payment/confirm", confirmation(p)["body"], p.bearer())["token"]}}


# Pairing --------------------------------------------------------------------------------------------------------------


recipe("endPairing")(lambda p: {"form": {"id": p.id(8)}})
recipe("renamePhone")(lambda p: {"form": {"id": p.id(8), "name": "Another name"}})
recipe("replacePairingTokens")(lambda p: {"body": {}})
recipe("exchangePairingToken")(lambda p: {"body": {"pairing_token": p.caller.json("GET", "/api/pair/info")["token"]}})
recipe("refreshPairing", "revokePairing")(lambda p: {"body": {"refresh_token": p.paired()["refresh_token"]}})


@recipe("exchangeTypedCode")
def _(p):
    page = p.caller.send("GET", "/pair")[2].decode()
    return {"body": {"code": re.search(r">(\d{6})<", page)[1]}}


# Turns ----------------------------------------------------------------------------------------------------------------


recipe("generateAPIKey")(lambda p: {"body": {"user_id": p.player, "master_key": p.site.secret("master-api-key")}})
recipe("registerForTurns")(lambda p: {"body": {"user_id": p.player, "device_token": new_token()}})
recipe("unregisterFromTurns")(lambda p: {"body": {"user_id": p.player, "device_token": p.device_token}})
recipe("getUsersByToken")(lambda p: {"items": {"device_token": p.device_token}})
recipe("changeTurnSettings")(lambda p: {"items": {"user_id": p.player}, "body": {"kinds": ["turn"]}})
recipe("getDiagnostics", "rotateAPIKey", "revokeAPIKey", "getTurnSettings", "deleteTurnUser")(
    lambda p: {"items": {"user_id": p.player}})
