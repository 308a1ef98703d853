import Base
import Cryptography
import Store

/// A new passkey of an app, in JSON as browsers write it.
struct CreatedCredential: SelfDescribing {
  static let schema = CredentialJSON<AttestationResponse>.schema.named("CreatedCredential")

  private let response: AttestationResponse

  init(from decoder: any Decoder) throws {
    response = try CredentialJSON<AttestationResponse>(from: decoder).response
  }

  func passkey(named name: String) -> NewPasskey {
    NewPasskey(
      name: name, clientDataJSON: response.clientDataJSON,
      attestationObject: response.attestationObject,
      challengeHash: hash(ofChallenge: nil, orIn: response.clientDataJSON))
  }
}

/// The assertion of a passkey, in JSON as browsers write it.
struct AssertedCredential: SelfDescribing {
  static let schema = CredentialJSON<AssertionResponse>.schema.named("AssertedCredential")

  let assertion: PasskeyAssertion

  init(from decoder: any Decoder) throws {
    let credential = try CredentialJSON<AssertionResponse>(from: decoder)
    assertion = PasskeyAssertion(
      credentialID: credential.id, clientDataJSON: credential.response.clientDataJSON,
      authenticatorData: credential.response.authenticatorData,
      signature: credential.response.signature, userHandle: credential.response.userHandle)
  }

  /// SHA-256 of the challenge that the assertion must answer: `named` in base64url, or else the challenge
  /// in its client data. For a malformed challenge, returns the SHA-256 of no bytes, which matches none.
  func challengeHash(_ named: String?) -> [UInt8] {
    hash(ofChallenge: named, orIn: assertion.clientDataJSON)
  }
}

private func hash(ofChallenge named: String?, orIn clientData: [UInt8]) -> [UInt8] {
  let bytes = if let named { base64URLDecoded(named) } else { challenge(inClientData: clientData) }
  return sha256(bytes ?? [])
}

/// A `PublicKeyCredential` in JSON (WebAuthn §5.1.8).
private struct CredentialJSON<Response: SelfDescribing>: Decodable {
  static var schema: Schema {
    let schema: Schema = [
      "id": .bytes(atMost: maximumID), "rawId": .bytes(atMost: maximumID),
      "type": .words(["public-key"]), "response": Response.schema,
    ]
    return schema.example([
      "id": "AA", "rawId": "AA", "type": "public-key", "response": Response.schema.example!,
    ])
  }

  private static var maximumID: Int { 1023 }

  let id: [UInt8]
  let response: Response

  private enum Member: String, CodingKey { case id, rawId, type, response }

  init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: Member.self)
    id = try members.bytes(.id, atMost: Self.maximumID)
    guard try members.bytes(.rawId, atMost: Self.maximumID) == id else {
      throw members.failure(.rawId, "not_the_id")
    }
    guard try members.decode(String.self, forKey: .type) == "public-key" else {
      throw members.failure(.type, "unknown_type")
    }
    response = try members.decode(Response.self, forKey: .response)
  }
}

private let maximumClientData = 4096

/// The number of characters of base64url without padding.
private func base64URLCount(of bytes: Int) -> Int { (bytes * 4 + 2) / 3 }

extension Schema {
  fileprivate static func bytes(atMost count: Int) -> Schema {
    text(atMost: base64URLCount(of: count)).with("pattern", "^[A-Za-z0-9_-]+$")
      .with("contentEncoding", "base64url")
  }
}

/// An `AuthenticatorAttestationResponse`.
private struct AttestationResponse: SelfDescribing {
  static let schema =
    ([
      "clientDataJSON": .bytes(atMost: maximumClientData),
      "attestationObject": .bytes(atMost: maximumObject),
    ] as Schema).example(["clientDataJSON": "AA", "attestationObject": "AA"])

  // Some authenticators send an attestation statement with certificates, although we do not ask for it.
  private static let maximumObject = 16_384

  let clientDataJSON: [UInt8]
  let attestationObject: [UInt8]

  private enum Member: String, CodingKey { case clientDataJSON, attestationObject }

  init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: Member.self)
    clientDataJSON = try members.bytes(.clientDataJSON, atMost: maximumClientData)
    attestationObject = try members.bytes(.attestationObject, atMost: Self.maximumObject)
  }
}

/// An `AuthenticatorAssertionResponse`.
private struct AssertionResponse: SelfDescribing {
  static let schema =
    ([
      "clientDataJSON": .bytes(atMost: maximumClientData),
      "authenticatorData": .bytes(atMost: maximumClientData),
      "signature": .bytes(atMost: maximumSignature),
      "userHandle?": .string.with("maxLength", .number(base64URLCount(of: maximumHandle))).orNull,
    ] as Schema).example(["clientDataJSON": "AA", "authenticatorData": "AA", "signature": "AA"])

  private static let maximumSignature = 512  // the size of RSA with 4,096 bits
  private static let maximumHandle = 64

  let clientDataJSON: [UInt8]
  let authenticatorData: [UInt8]
  let signature: [UInt8]
  let userHandle: [UInt8]?

  private enum Member: String, CodingKey {
    case clientDataJSON, authenticatorData, signature, userHandle
  }

  init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: Member.self)
    clientDataJSON = try members.bytes(.clientDataJSON, atMost: maximumClientData)
    authenticatorData = try members.bytes(.authenticatorData, atMost: maximumClientData)
    signature = try members.bytes(.signature, atMost: Self.maximumSignature)
    // Some browsers write an empty string for a missing handle.
    let handle = try members.decodeIfPresent(String.self, forKey: .userHandle) ?? ""
    userHandle = handle.isEmpty ? nil : try members.bytes(.userHandle, atMost: Self.maximumHandle)
  }
}

extension KeyedDecodingContainer {
  /// The bytes of a member in base64url without padding: at least one byte.
  fileprivate func bytes(_ key: Key, atMost count: Int) throws -> [UInt8] {
    let text = try decode(String.self, forKey: key)
    guard text.utf8.count <= base64URLCount(of: count) else { throw failure(key, "too_long") }
    guard let bytes = base64URLDecoded(text), !bytes.isEmpty else {
      throw failure(key, "not_base64url")
    }
    return bytes
  }

  fileprivate func failure(_ key: Key, _ reason: String) -> Failure {
    let path = codingPath.map(\.stringValue) + [key.stringValue]
    return .validation(field: path.joined(separator: "."), reason: reason)
  }
}
