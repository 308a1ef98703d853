import Base
import Cryptography
import HTTP
import Store

@testable import API

extension FuzzTarget {
  static let ofTokens = [
    FuzzTarget("jwt", atMost: 1024, testJWT),
    FuzzTarget("pairing-token", atMost: 1024, testPairingToken),
    FuzzTarget("link-token", atMost: 256, testLinkToken),
  ]

  /// A token that verifies has one spelling. As a signed payload, the input is read as claims.
  private static func testJWT(_ input: [UInt8]) {
    if let payload = try? JSONWebToken.verify(input.text, with: Site.keys) {
      require(JSONWebToken.sign(payload, with: Site.keys.newest) == input.text, "another spelling")
    }
    let signed = JSONWebToken.sign(input, with: Site.keys.newest)
    require((try? JSONWebToken.verify(signed, with: Site.keys)) == input, "another payload")
    var forged = Array(signed.utf8)
    forged[(Int(input.first ?? 0) << 8 | Int(input.last ?? 0)) % forged.count] ^= 1
    require((try? JSONWebToken.verify(forged.text, with: Site.keys)) == nil, "a forged token")
    let body = JSONWriter.object { $0.member("refreshToken", signed) }
    for request in [
      Request(
        path: "/api/mobile/devices", fields: [(name: "Authorization", value: "Bearer \(signed)")]),
      Request(method: "POST", path: "/api/mobile/auth/token/refresh", body: body),
    ] { _ = Site.answer(to: request) }
  }

  /// The same for tokens of pairing, whose payload also has one spelling.
  private static func testPairingToken(_ input: [UInt8]) {
    let parts = JSONWriter.object { json in
      json.member("p", base64URLEncoded(input))
      json.member("s", base64URLEncoded(hmacSHA256(input, with: Site.keys.newest)))
    }
    let signed = PairingToken.Kind.allCases.map { $0.prefix + base64URLEncoded(parts) }
    for text in [input.text] + signed {
      guard let token = PairingToken(text, signedWith: Site.keys) else { continue }
      require(token.signedText(with: Site.keys.newest) == text, "\(token) has another spelling")
    }
  }

  private static let links = [["account-1"], ["session-1", "passkey-1"], ["session-1", ""]].map {
    LinkToken.make(for: .ending, of: $0, with: Site.keys.newest)
  }

  /// Only the tokens that were made are accepted. The input changes one of them: each three bytes
  /// are a position, a number of characters to replace, and the character.
  private static func testLinkToken(_ input: [UInt8]) {
    guard let first = input.first else { return }
    var text = Array(links[Int(first) % links.count].utf8)
    for change in Array(input.dropFirst()).pieces(of: 3) where change.count == 3 {
      let start = Int(change[0]) % (text.count + 1)
      let end = min(text.count, start + Int(change[1]) % 4)
      text.replaceSubrange(start..<end, with: [change[2]])
    }
    let isAccepted =
      LinkToken.parts(of: text.text, for: .ending, signedWith: Site.keys) != nil
    require(!isAccepted || links.contains(text.text), "\(text.text.debugDescription) is accepted")
    require(
      LinkToken.parts(of: text.text, for: .confirmation, signedWith: Site.keys) == nil,
      "a token of another purpose")
  }
}
