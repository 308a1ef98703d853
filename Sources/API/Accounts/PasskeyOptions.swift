import Base
import Cryptography
import Store

extension JSONWriter {
  /// Writes the options with which a browser asks its authenticators for an assertion
  /// (`PublicKeyCredentialRequestOptionsJSON`, WebAuthn §5.5).
  mutating func requestOptions(
    _ challenge: String, of party: RelyingParty, offering ids: [[UInt8]]
  ) {
    member("challenge", challenge)
    member("timeout", NewPasskeyChallenge.lifetime.milliseconds)
    member("rpId", party.id)
    member("allowCredentials", array: { $0.credentials(ids) })
    member("userVerification", "required")
  }

  mutating func creationOptions(
    _ challenge: String, of party: RelyingParty, for account: Account, excluding ids: [[UInt8]]
  ) {
    member("challenge", challenge)
    member("rp", object: { $0.members(of: party) })
    member("user", object: { $0.user(account) })
    member("pubKeyCredParams", array: { $0.parameters(of: party.algorithms) })
    member("timeout", NewPasskeyChallenge.lifetime.milliseconds)
    member("excludeCredentials", array: { $0.credentials(ids) })
    member(
      "authenticatorSelection",
      object: { selection in
        selection.member("residentKey", "preferred")
        selection.member("userVerification", "required")
      })
    member("attestation", "none")
  }

  private mutating func members(of party: RelyingParty) {
    member("id", party.id)
    member("name", party.id)
  }

  private mutating func user(_ account: Account) {
    member("id", base64URLEncoded(userHandle(ofAccount: account.id)))
    member("name", account.email)
    member("displayName", account.name)
  }

  private mutating func parameters(of algorithms: [COSEKey.Algorithm]) {
    for algorithm in algorithms {
      object { parameter in
        parameter.member("type", "public-key")
        parameter.member("alg", algorithm.rawValue)
      }
    }
  }

  private mutating func credentials(_ ids: [[UInt8]]) {
    for id in ids {
      object { credential in
        credential.member("type", "public-key")
        credential.member("id", base64URLEncoded(id))
      }
    }
  }
}

extension Schema {
  private static let credentials = Schema.array(of: [
    "type": .words(["public-key"]), "id": .base64URL,
  ])

  /// `PublicKeyCredentialRequestOptionsJSON`
  static let requestOptions: Schema =
    ([
      "challenge": .base64URL, "timeout": .integer, "rpId": .string,
      "allowCredentials": credentials,
      "userVerification": .words(["required"]),
    ] as Schema).named("PasskeyRequestOptions")

  /// `PublicKeyCredentialCreationOptionsJSON`
  static let creationOptions: Schema =
    ([
      "challenge": .base64URL, "rp": ["id": .string, "name": .string],
      "user": ["id": .base64URL, "name": .string, "displayName": .string],
      "pubKeyCredParams": .array(of: ["type": .words(["public-key"]), "alg": .integer]),
      "timeout": .integer, "excludeCredentials": credentials,
      "authenticatorSelection": ["residentKey": .string, "userVerification": .string],
      "attestation": .words(["none"]),
    ] as Schema).named("PasskeyCreationOptions")
}
