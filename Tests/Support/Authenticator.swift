import Cryptography
import Foundation

/// An authenticator with one passkey of one relying party (WebAuthn §6), and its browser.
package struct Authenticator: Sendable {
  package enum Algorithm: Sendable, CaseIterable { case es256, edDSA, rs256 }

  /// The flags of authenticator data (WebAuthn §6.1).
  package enum Flag {
    package static let present: UInt8 = 0x01
    package static let verified: UInt8 = 0x04
    package static let backupEligible: UInt8 = 0x08
    package static let backedUp: UInt8 = 0x10
    package static let credential: UInt8 = 0x40
  }

  package var partyID: String
  package var origin: String
  package var algorithm: Algorithm
  package var credentialID = randomBytes(32)
  /// 0 means that the authenticator does not count.
  package var signCount: UInt32 = 0
  package var flags = Flag.present | Flag.verified | Flag.backupEligible | Flag.backedUp
  /// Optional members of the client data, each after a comma.
  package var extraClientData = #","crossOrigin":false"#

  package init(
    partyID: String = "api.example.org", origin: String = "https://api.example.org",
    algorithm: Algorithm = .es256
  ) {
    self.partyID = partyID
    self.origin = origin
    self.algorithm = algorithm
  }

  /// The `PublicKeyCredential` of a new passkey, in a browser's JSON.
  package func created(
    answering challenge: String, type: String = "webauthn.create"
  ) -> [String: any Sendable] {
    let authData =
      data(flags | Flag.credential) + [UInt8](repeating: 0, count: 16)
      + [UInt8(credentialID.count >> 8), UInt8(credentialID.count & 0xFF)] + credentialID + coseKey
    let (high, low) = (UInt8(authData.count >> 8), UInt8(authData.count & 0xFF))
    let size = high == 0 ? [0x58, low] : [0x59, high, low]  // CTAP accepts only the shortest form
    let object =
      [0xA3, 0x63] + Array("fmt".utf8) + [0x64] + Array("none".utf8) + [0x67]
      + Array("attStmt".utf8) + [0xA0, 0x68] + Array("authData".utf8) + size + authData
    return credential([
      "clientDataJSON": base64URLEncoded(clientData(type, challenge)),
      "attestationObject": base64URLEncoded(object), "transports": ["internal"],
    ])
  }

  /// The `PublicKeyCredential` of an assertion.
  package func asserted(
    answering challenge: String, type: String = "webauthn.get", userHandle: [UInt8]? = nil
  ) -> [String: any Sendable] {
    let (clientData, authData) = (clientData(type, challenge), data(flags))
    return credential([
      "clientDataJSON": base64URLEncoded(clientData),
      "authenticatorData": base64URLEncoded(authData),
      "signature": base64URLEncoded(signature(of: authData + sha256(clientData))),
      "userHandle": userHandle.map { base64URLEncoded($0) } ?? NSNull(),
    ])
  }

  private func credential(_ response: [String: any Sendable]) -> [String: any Sendable] {
    let id = base64URLEncoded(credentialID)
    let none: [String: String] = [:]
    return [
      "id": id, "rawId": id, "type": "public-key", "authenticatorAttachment": "platform",
      "clientExtensionResults": none, "response": response,
    ]
  }

  private func clientData(_ type: String, _ challenge: String) -> [UInt8] {
    Array(
      #"{"type":"\#(type)","challenge":"\#(challenge)","origin":"\#(origin)"\#(extraClientData)}"#
        .utf8)
  }

  private func data(_ flags: UInt8) -> [UInt8] {
    sha256(partyID) + [flags] + withUnsafeBytes(of: signCount.bigEndian) { Array($0) }
  }

  private var coseKey: [UInt8] {
    let key = KeyPair.of(algorithm).subjectPublicKeyInfo
    return switch algorithm {
    case .es256:
      [0xA5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20] + key.suffix(64).prefix(32)
        + [0x22, 0x58, 0x20] + key.suffix(32)
    case .edDSA: [0xA4, 0x01, 0x01, 0x03, 0x27, 0x20, 0x06, 0x21, 0x58, 0x20] + key.suffix(32)
    case .rs256:
      // The modulus stands before the exponent.
      [0xA4, 0x01, 0x03, 0x03, 0x39, 0x01, 0x00, 0x20, 0x59, 0x01, 0x00]
        + key.dropLast(5).suffix(256) + [0x21, 0x43, 0x01, 0x00, 0x01]
    }
  }

  private func signature(of message: [UInt8]) -> [UInt8] {
    let key = KeyPair.of(algorithm)
    return switch algorithm {
    case .es256: es256Signature(of: message, by: key.pem)
    case .edDSA: key.signature(of: message)
    case .rs256: key.signature(of: message, "-digest", "sha256")
    }
  }
}

/// A key that the command `openssl` makes and signs with. All authenticators of a run share one key
/// of each kind.
private struct KeyPair: Sendable {
  let pem: String
  /// In DER.
  let subjectPublicKeyInfo: [UInt8]

  static func of(_ algorithm: Authenticator.Algorithm) -> KeyPair {
    switch algorithm {
    case .es256: p256
    case .edDSA: ed25519
    case .rs256: rsa
    }
  }

  private static let p256 = KeyPair("EC", "-pkeyopt", "ec_paramgen_curve:P-256")
  private static let ed25519 = KeyPair("ED25519")
  private static let rsa = KeyPair("RSA", "-pkeyopt", "rsa_keygen_bits:2048")

  private init(_ algorithm: String...) {
    let folder = makeTemporaryFolder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let (key, publicKey) = ("\(folder)/key", "\(folder)/public")
    runCommand("openssl", ["genpkey", "-quiet", "-out", key, "-algorithm"] + algorithm)
    runCommand("openssl", ["pkey", "-in", key, "-pubout", "-outform", "DER", "-out", publicKey])
    pem = String(decoding: FileManager.default.contents(atPath: key)!, as: UTF8.self)
    subjectPublicKeyInfo = Array(FileManager.default.contents(atPath: publicKey)!)
  }

  func signature(of message: [UInt8], _ options: String...) -> [UInt8] {
    let folder = makeTemporaryFolder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let (input, key, output) = ("\(folder)/message", "\(folder)/key", "\(folder)/signature")
    _ = FileManager.default.createFile(atPath: input, contents: Data(message))
    _ = FileManager.default.createFile(atPath: key, contents: Data(pem.utf8))
    let files = ["-inkey", key, "-in", input, "-out", output]
    runCommand("openssl", ["pkeyutl", "-sign", "-rawin"] + options + files)
    return Array(FileManager.default.contents(atPath: output)!)
  }
}

/// The signature of `message` with a P-256 key, in DER (RFC 3279 §2.2.3) as phones and
/// authenticators send it.
package func es256Signature(of message: [UInt8], by pem: String) -> [UInt8] {
  /// An ASN.1 INTEGER.
  func integer(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    var digits = Array(bytes.drop { $0 == 0 })
    if digits.first.map({ $0 >= 0x80 }) ?? true { digits.insert(0, at: 0) }
    return [2, UInt8(digits.count)] + digits
  }
  guard let raw = try? P256PrivateKey(pem: pem).signES256(message.span) else {
    recordIssue("no signature")
    return []
  }
  let content = integer(raw.prefix(32)) + integer(raw.suffix(32))
  return [0x30, UInt8(content.count)] + content
}
