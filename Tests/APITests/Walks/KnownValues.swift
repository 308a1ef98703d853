import Base
import Cryptography
import Foundation
import Support

/// The values that an actor knows at one point of a walk.
struct KnownValues {
  private(set) var texts: [ValueSource: String] = [:]
  /// The sources of each kind, oldest first.
  private(set) var sources: [String: [ValueSource]] = [:]
  /// The kinds with new values in the last answer.
  private(set) var newest: Set<String> = []
  private var known: [String: Set<String>] = [:]
  private let passkeys: ThiefPasskeys

  init(_ values: [(kind: String, text: String)], passkeys: ThiefPasskeys) {
    self.passkeys = passkeys
    var counts: [String: Int] = [:]
    for (kind, text) in values {
      learn(text, of: kind, from: .held(kind, counts[kind, default: 0]))
      counts[kind, default: 0] += 1
    }
  }

  /// Learns the values in the answer to a step.
  mutating func learn(_ found: [(kind: String, text: String)], from step: Int) {
    var counts: [String: Int] = [:]
    newest = []
    for (kind, text) in found {
      learn(text, of: kind, from: .answered(step: step, kind: kind, counts[kind, default: 0]))
      counts[kind, default: 0] += 1
    }
  }

  private mutating func learn(_ text: String, of kind: String, from source: ValueSource) {
    texts[source] = text
    if known[kind, default: []].insert(text).inserted {
      sources[kind, default: []].append(source)
      newest.insert(kind)
    }
  }

  /// Every text of a kind.
  func all(_ kind: String) -> Set<String> { known[kind] ?? [] }

  /// Whether a text is known, alone or as a part of another text.
  func has(_ text: String) -> Bool { texts.values.contains { $0.contains(text) } }

  /// The ids of the sessions whose access tokens are known.
  var sessions: Set<String> {
    Set(all("accessToken").compactMap { tokenClaims($0)["sid"] as? String })
  }

  /// SHA-256 of the device credentials, in hex as the database prints it.
  var credentialHashes: Set<String> {
    Set(all("deviceCredential").map { hexEncoded(sha256($0)).uppercased() })
  }

  /// The value of a source; nil if it is unknown.
  ///
  /// - Returns: whether the value is JSON, and its text.
  func value(_ source: ValueSource) -> (isJSON: Bool, text: String)? {
    switch source {
    case .held, .answered: return texts[source].map { (false, $0) }
    case .text(let text): return (false, text)
    case .json(let json): return (true, json)
    case .signature(let challenge):
      guard let text = value(challenge)?.text else { return nil }
      // Challenges of payments are base64url.
      let bytes = base64Decoded(text) ?? base64URLDecoded(text) ?? []
      return (false, PhoneKey.two.sign(base64Encoded(bytes)))
    case .created(let challenge):
      return value(challenge).map { (true, jsonText(passkeys.new.created(answering: $0.text))) }
    case .asserted(let challenge):
      return value(challenge).map { asserted($0.text, passkeys.first, passkeys.firstHandle) }
    case .newlyAsserted(let challenge):
      let handle = sources["user handle"]?.last.flatMap { texts[$0] }.flatMap(base64URLDecoded)
      return value(challenge).map { asserted($0.text, passkeys.new, handle) }
    }
  }

  private func asserted(
    _ challenge: String, _ passkey: Authenticator, _ handle: [UInt8]?
  ) -> (isJSON: Bool, text: String) {
    (true, jsonText(passkey.asserted(answering: challenge, userHandle: handle)))
  }
}
