import Cryptography
import Foundation
import Synchronization

/// A bank on a port of 127.0.0.1 whose person consents at once. It verifies what a real bank verifies
/// (RFC 6749, RFC 7636), so that it can refuse.
package final class FakeBank: Sendable {
  package enum Endpoint: String, Sendable, CaseIterable { case authorize, token, cards }

  package enum Fault: Sendable, Equatable {
    case status(Int)
    /// 200 with this body.
    case body(String)
    /// A body that is too large to read.
    case large
    /// No answer until the client closes the connection.
    case silence
    /// `error` of the authorization endpoint, such as `access_denied`.
    case refusal(String)
  }

  /// The current behavior of the bank.
  package struct Script: Sendable {
    package var faults: [Endpoint: Fault] = [:]
    /// JSON
    package var cards = FakeBank.cards
    package var givesIDToken = true
    /// Called before the cards are sent.
    package var beforeCards: (@Sendable () -> Void)?

    package init() {}
  }

  package static let cards = #"""
    {"cards":[
      {"id":"card-1","lastFour":"4242","cardType":"VISA","expiryMonth":12,"expiryYear":2030},
      {"id":"card-2","lastFour":"0005","cardType":"amex","expiryMonth":1,"expiryYear":2031,"name":"Gold"}]}
    """#

  private struct Grant {
    let redirectURI: String
    let challenge: String
    let nonce: String
  }

  private struct State {
    var script = Script()
    var grants: [String: Grant] = [:]
    var tokens: Set<String> = []
    var exchanges = 0
    var secrets: [String] = []
  }

  private let state = Mutex(State())
  private let listener: LoopbackListener
  private let latestScript: (@Sendable () -> Script)?
  package let clientID: String
  package let clientSecret: String

  /// - Parameters:
  ///   - wanted: 0 takes a free port.
  ///   - script: called at each request; nil uses the script that ``play(_:)`` changes.
  /// - Returns: nil if the port cannot be used.
  package init?(
    port wanted: UInt16 = 0, clientID: String = "wsim & co",
    clientSecret: String = "s+%&:/ \(hexEncoded(randomBytes(16)))",
    script: (@Sendable () -> Script)? = nil
  ) {
    guard let listener = LoopbackListener(port: wanted) else { return nil }
    self.listener = listener
    self.clientID = clientID
    self.clientSecret = clientSecret
    latestScript = script
    Evidence.keep(secret: clientSecret)
    listener.begin { [self] in serve(Wire($0)) }
  }

  /// Stops listening. Open connections end when their clients close them.
  package func end() { listener.end() }

  package var port: UInt16 { listener.port }
  package var url: String { "http://127.0.0.1:\(port)" }

  package func play(_ change: (inout Script) -> Void) { state.withLock { change(&$0.script) } }

  /// Every secret that the bank has sent or received. Only the bank may store them.
  package var secrets: [String] { state.withLock { $0.secrets } }

  private func keep(_ secret: String) {
    Evidence.keep(secret: secret)
    state.withLock { $0.secrets.append(secret) }
  }

  /// The number of attempts to exchange a code.
  package var exchanges: Int { state.withLock { $0.exchanges } }

  /// The person consents to the request in `url`.
  ///
  /// - Returns: where the bank sends the person back; nil if the request is malformed.
  package func consent(to url: String) -> String? {
    guard let asked = URLComponents(string: url), asked.path == "/authorize" else { return nil }
    func item(_ name: String) -> String? {
      let values = (asked.queryItems ?? []).filter { $0.name == name }.map(\.value)
      return values.count == 1 ? values[0] : nil
    }
    guard item("client_id") == clientID, item("response_type") == "code",
      item("scope")?.isEmpty == false, item("code_challenge_method") == "S256",
      let challenge = item("code_challenge"), base64URLDecoded(challenge)?.count == 32,
      let state = item("state"), hexDecoded(state)?.count == 16,
      let nonce = item("nonce"), hexDecoded(nonce)?.count == 16,
      let redirectURI = item("redirect_uri"), URLComponents(string: redirectURI)?.query == nil
    else { return nil }
    for secret in [state, nonce] { keep(secret) }
    if case .refusal(let word) = script.faults[.authorize] {
      return "\(redirectURI)?error=\(Self.encoded(word))&state=\(state)"
    }
    let code = "c+/=&é \(hexEncoded(randomBytes(16)))"
    keep(code)
    self.state.withLock {
      $0.grants[code] = Grant(redirectURI: redirectURI, challenge: challenge, nonce: nonce)
    }
    return "\(redirectURI)?code=\(Self.encoded(code))&state=\(state)&iss=x"
  }

  private var script: Script { latestScript?() ?? state.withLock { $0.script } }

  private func serve(_ wire: Wire) {
    while let head = wire.head() {
      let length = head.firstMatch(of: /(?i)content-length: (\d+)/).flatMap { Int($0.1) } ?? 0
      let body = String(decoding: (0..<length).compactMap { _ in wire.byte() }, as: UTF8.self)
      let words = head.split(separator: " ")
      guard words.count > 2, let target = URLComponents(string: String(words[1])),
        let endpoint = Endpoint(rawValue: String(target.path.dropFirst()))
      else { return wire.answer(404) }
      guard words[0] == (endpoint == .token ? "POST" : "GET") else { return wire.answer(405) }
      if endpoint == .token { state.withLock { $0.exchanges += 1 } }
      switch script.faults[endpoint] {
      case .status(let status): wire.answer(status)
      case .body(let text): wire.answer(200, text)
      case .large: wire.answer(200, #"{"x":""# + String(repeating: "x", count: 1 << 20) + #""}"#)
      case .silence:
        _ = wire.byte()
        return
      case .refusal, nil: answer(endpoint, head, String(words[1]), body, on: wire)
      }
    }
  }

  private func answer(
    _ endpoint: Endpoint, _ head: String, _ target: String, _ body: String, on wire: Wire
  ) {
    let field = head.firstMatch(of: /(?i)\r\nauthorization: ([^\r]*)/).map { String($0.1) }
    switch endpoint {
    case .authorize:
      guard let back = consent(to: url + target) else { return wire.answer(400) }
      wire.answer(302, fields: "Location: \(back)\r\n")
    case .token:
      let (status, json) = exchange(Self.form(body), authorization: field)
      wire.answer(status, json)
    case .cards:
      let token = field.flatMap { $0.hasPrefix("Bearer ") ? String($0.dropFirst(7)) : nil }
      let isKnown = token.map { token in state.withLock { $0.tokens.contains(token) } } ?? false
      guard isKnown else { return wire.answer(401) }
      script.beforeCards?()
      wire.answer(200, script.cards)
    }
  }

  /// RFC 6749 §4.1.3 and §5.2, RFC 7636 §4.6. Every attempt uses up the code.
  private func exchange(_ form: [String: String], authorization: String?) -> (Int, String) {
    let pair = "\(Self.encoded(clientID)):\(Self.encoded(clientSecret))"
    guard authorization == "Basic \(base64Encoded(Array(pair.utf8)))" else {
      return (401, #"{"error":"invalid_client"}"#)
    }
    if let verifier = form["code_verifier"] { keep(verifier) }
    let grant = state.withLock { $0.grants.removeValue(forKey: form["code"] ?? "") }
    guard form["grant_type"] == "authorization_code", let grant,
      form["redirect_uri"] == grant.redirectURI, let verifier = form["code_verifier"],
      43...128 ~= verifier.utf8.count, base64URLEncoded(sha256(verifier)) == grant.challenge
    else { return (400, #"{"error":"invalid_grant"}"#) }
    let token = "bank-\(hexEncoded(randomBytes(16)))"
    keep(token)
    state.withLock { _ = $0.tokens.insert(token) }
    let claims = base64URLEncoded(Array(#"{"sub":"ann","nonce":"\#(grant.nonce)"}"#.utf8))
    let idToken = script.givesIDToken ? #","id_token":"eyJ9.\#(claims).c2ln""# : ""
    return (
      200, #"{"access_token":"\#(token)","token_type":"Bearer","expires_in":300\#(idToken)}"#
    )
  }

  private static func form(_ body: String) -> [String: String] {
    var parsed = URLComponents()
    parsed.percentEncodedQuery = body.replacing("+", with: "%20")
    let pairs = (parsed.queryItems ?? []).map { ($0.name, $0.value ?? "") }
    return Dictionary(pairs) { _, last in last }
  }

  private static func encoded(_ text: String) -> String {
    let plain = CharacterSet(
      charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
    return text.addingPercentEncoding(withAllowedCharacters: plain)!
  }
}

extension FakeBank.Fault {
  package static let grammar = """
    Each line of FOLDER/faults names an endpoint (authorize, token, cards) and its fault: `status NUMBER`, \
    `body TEXT` (with status 200), `large` or `silence`; for authorize also `refusal WORD`, such as \
    access_denied.
    """

  /// - Returns: nil if `line` does not follow ``grammar``.
  package static func parse(_ line: some StringProtocol) -> (FakeBank.Endpoint, Self)? {
    let words = String(line).split(separator: " ", maxSplits: 2).map(String.init)
    guard words.count > 1, let endpoint = FakeBank.Endpoint(rawValue: words[0]) else { return nil }
    let fault: Self? =
      switch (words[1], words.dropFirst(2).first) {
      case ("status", let number?): Int(number).map { .status($0) }
      case ("body", let text?): .body(text)
      case ("refusal", let word?): .refusal(word)
      case ("large", nil): .large
      case ("silence", nil): .silence
      default: nil
      }
    return fault.map { (endpoint, $0) }
  }
}

extension Wire {
  fileprivate func answer(_ status: Int, _ body: String = "{}", fields: String = "") {
    write(
      "HTTP/1.1 \(status) -\r\n\(fields)Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
    )
  }
}
