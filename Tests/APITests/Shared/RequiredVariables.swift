/// The environment of a responder that sets only what it must.
let requiredVariables = [
  "SWITCHBOARD_PUBLIC_URL": "https://api.example.org",
  "SWITCHBOARD_JWT_KEYS": key, "SWITCHBOARD_HMAC_KEYS": key, "SWITCHBOARD_CREDENTIAL_KEYS": key,
]
private let key = "k1:" + String(repeating: "A", count: 43)
