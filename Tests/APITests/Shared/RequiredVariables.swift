/// A responder's environment with only the required variables.
let requiredVariables = [
  "SWITCHBOARD_PUBLIC_URL": "https://api.example.org",
  "SWITCHBOARD_JWT_KEYS": key, "SWITCHBOARD_HMAC_KEYS": key, "SWITCHBOARD_CREDENTIAL_KEYS": key,
  "SWITCHBOARD_PAYMENT_KEYS": "k1:jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI",  // RFC 7515 A.3
  // The public key of the private key with 32 bytes of 8.
  "SWITCHBOARD_COMPANION_PUBLIC_KEYS": "public:c1:MdSras7slhE3kXA3k25gcW-sVzr-lNnahKgCBEjfwRI",
]
private let key = "k1:" + String(repeating: "A", count: 43)
