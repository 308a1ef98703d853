import COpenSSL
import Cryptography
import Foundation
import Synchronization

/// Google's token endpoint and Firebase Cloud Messaging on a port of 127.0.0.1. It verifies what
/// Google verifies (RFC 7523; `projects.messages` of FCM HTTP v1), so that it can refuse.
package final class FakeFCM: Sendable {
  /// The refusal of a device token.
  package struct Refusal: Sendable {
    let status: Int
    /// `errorCode` of FCM; nil sends only Google's own `status`.
    let errorCode: String?
    let googleStatus: String
    let retryAfter: Int?

    package init(
      _ status: Int, _ errorCode: String?, google googleStatus: String = "UNKNOWN",
      retryAfter: Int? = nil
    ) {
      self.status = status
      self.errorCode = errorCode
      self.googleStatus = googleStatus
      self.retryAfter = retryAfter
    }
  }

  package struct Received: Sendable {
    package let token: String
    /// The received JSON, unchanged.
    package let message: String
    package let status: Int
  }

  private struct State {
    var refusals: [String: Refusal] = [:]
    var refusesExchanges: String?
    var accessTokens: Set<String> = []
    var exchanges = 0
    var received: [Received] = []
  }

  package static let project = "switchboard-test"
  package static let account = "push@switchboard-test.iam.gserviceaccount.com"
  package static let keyID = "0123456789abcdef0123456789abcdef01234567"

  /// Delays the answers for a device token while the token's gate is closed.
  package let gate = Gate()
  private let key: RSAKeyPair
  private let listener: LoopbackListener
  private let fault: @Sendable (_ token: String) -> Refusal?
  private let note: @Sendable (Received) -> Void
  private let state = Mutex(State())

  /// - Parameters:
  ///   - port: 0 takes a free port.
  ///   - privateKey: the service account's key, in PEM; nil makes a new key.
  ///   - fault: the refusal of a device token, in addition to ``refuse(_:with:)``.
  ///   - note: receives each message.
  /// - Returns: nil if the port cannot be used, or `privateKey` is not a key.
  package init?(
    port: UInt16, privateKey: String? = nil,
    fault: @escaping @Sendable (_ token: String) -> Refusal? = { _ in nil },
    note: @escaping @Sendable (Received) -> Void = { _ in }
  ) {
    guard let key = privateKey.map(RSAKeyPair.init(pem:)) ?? RSAKeyPair(),
      let listener = LoopbackListener(port: port)
    else { return nil }
    (self.key, self.listener) = (key, listener)
    (self.fault, self.note) = (fault, note)
    listener.begin { [self] in serve(Wire($0)) }
  }

  package convenience init() { self.init(port: 0)! }  // there is always a free port

  package func end() {
    gate.openAll()
    listener.end()
  }

  package var port: UInt16 { listener.port }
  package var url: String { "http://127.0.0.1:\(port)" }
  package var tokenURL: String { "\(url)/token" }
  /// The key of the service account, in PEM.
  package var privateKey: String { key.pem }

  /// The file of the service account.
  package var serviceAccount: String {
    let members = [
      "type": "service_account", "project_id": Self.project, "private_key_id": Self.keyID,
      "private_key": key.pem, "client_email": Self.account, "token_uri": tokenURL,
      "client_id": "1", "universe_domain": "googleapis.com",
    ]
    return String(decoding: try! JSONEncoder().encode(members), as: UTF8.self)
  }

  package var exchanges: Int { state.withLock { $0.exchanges } }
  package var received: [Received] { state.withLock { $0.received } }

  package func refuse(_ token: String, with refusal: Refusal) {
    state.withLock { $0.refusals[token] = refusal }
  }

  /// Refuses every assertion with this OAuth error code; nil refuses only invalid assertions.
  package func refuseExchanges(_ word: String?) { state.withLock { $0.refusesExchanges = word } }

  /// Revokes all issued access tokens.
  package func revokeAccessTokens() { state.withLock { $0.accessTokens = [] } }

  private func serve(_ wire: Wire) {
    while let head = wire.head() {
      let length = head.firstMatch(of: /(?i)content-length: (\d+)/).flatMap { Int($0.1) } ?? 0
      let body = String(decoding: (0..<length).compactMap { _ in wire.byte() }, as: UTF8.self)
      let words = head.split(separator: " ")
      guard words.count > 2, words[0] == "POST" else { return wire.answer(405) }
      func field(_ name: String) -> String {
        let line = head.split(separator: "\r\n").first {
          $0.lowercased().hasPrefix("\(name): ")
        }
        return line.map { String($0.dropFirst(name.count + 2)) } ?? ""
      }
      if words[1] == "/token" {
        let isForm = field("content-type") == "application/x-www-form-urlencoded"
        let (status, answer) = isForm ? exchange(body) : (400, #"{"error":"invalid_request"}"#)
        wire.answer(status, answer)
      } else {
        let isJSON = field("content-type").hasPrefix("application/json")
        send(isJSON ? body : "", to: String(words[1]), field("authorization"), on: wire)
      }
    }
  }
}

/// The token endpoint.
extension FakeFCM {
  private func exchange(_ form: String) -> (Int, String) {
    var parsed = URLComponents()
    parsed.percentEncodedQuery = form
    let items = parsed.queryItems ?? []
    func value(_ name: String) -> String { items.first { $0.name == name }?.value ?? "" }
    let wish = state.withLock { state in
      state.exchanges += 1
      return state.refusesExchanges
    }
    func refuse(_ word: String, _ description: String) -> (Int, String) {
      (400, #"{"error":"\#(word)","error_description":"\#(description)"}"#)
    }
    if let wish { return refuse(wish, "as the test says") }
    guard value("grant_type") == "urn:ietf:params:oauth:grant-type:jwt-bearer" else {
      return refuse("unsupported_grant_type", "Invalid grant_type")
    }
    if let fault = fault(of: value("assertion")) { return refuse("invalid_grant", fault) }
    let token = "ya29.\(hexEncoded(randomBytes(32)))"
    Evidence.keep(secret: token)
    state.withLock { _ = $0.accessTokens.insert(token) }
    return (200, #"{"access_token":"\#(token)","expires_in":3599,"token_type":"Bearer"}"#)
  }

  /// The error in an assertion, in Google's words; nil for a valid assertion.
  private func fault(of assertion: String) -> String? {
    let parts = assertion.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 3, let header = Self.members(parts[0]),
      let claims = Self.members(parts[1]), let signature = base64URLDecoded(parts[2])
    else { return "Bad Request" }
    guard header["alg"] as? String == "RS256", header["kid"] as? String == Self.keyID,
      key.verifies(signature, of: "\(parts[0]).\(parts[1])")
    else { return "Invalid JWT Signature." }
    guard claims["iss"] as? String == Self.account else {
      return "Invalid grant: account not found"
    }
    guard claims["aud"] as? String == tokenURL else { return "Invalid JWT: Failed audience check." }
    guard claims["scope"] as? String == "https://www.googleapis.com/auth/firebase.messaging" else {
      return "Invalid OAuth scope or ID token audience provided."
    }
    let now = Int(Date().timeIntervalSince1970)
    guard let issued = claims["iat"] as? Int, let expires = claims["exp"] as? Int,
      expires > now, expires <= issued + 3600, abs(issued - now) < 600
    else {
      return
        "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe."
    }
    return nil
  }

  private static func members(_ part: String) -> [String: Any]? {
    base64URLDecoded(part).flatMap {
      (try? JSONSerialization.jsonObject(with: Data($0))) as? [String: Any]
    }
  }
}

/// FCM.
extension FakeFCM {
  private func send(_ body: String, to path: String, _ authorization: String, on wire: Wire) {
    let isKnown = state.withLock {
      $0.accessTokens.contains(String(authorization.dropFirst("Bearer ".count)))
    }
    guard authorization.hasPrefix("Bearer "), isKnown else {
      return wire.refuse(Refusal(401, nil, google: "UNAUTHENTICATED"))
    }
    guard path == "/v1/projects/\(Self.project)/messages:send" else {
      return wire.refuse(Refusal(403, nil, google: "PERMISSION_DENIED"))
    }
    let parsed = try? JSONSerialization.jsonObject(with: Data(body.utf8))
    let request = parsed as? [String: Any] ?? [:]
    let message = request["message"] as? [String: Any] ?? [:]
    let token = message["token"] as? String ?? ""
    gate.pass(token)
    let refusal = state.withLock { $0.refusals[token] } ?? fault(token)
    let field = Set(request.keys) == ["message"] ? Self.violation(in: message) : "message"
    let status = field != nil ? 400 : refusal?.status ?? 200
    let received = Received(token: token, message: body, status: status)
    state.withLock { $0.received.append(received) }
    note(received)
    if let field {
      wire.refuse(Refusal(400, "INVALID_ARGUMENT", google: "INVALID_ARGUMENT"), of: field)
    } else if let refusal {
      wire.refuse(refusal)
    } else {
      wire.answer(200, #"{"name":"projects/\#(Self.project)/messages/0:\#(UUID().uuidString)"}"#)
    }
  }

  /// The first field that FCM rejects; nil for a valid message.
  private static func violation(in message: [String: Any]) -> String? {
    let token = message["token"] as? String ?? ""
    if token.wholeMatch(of: /[A-Za-z0-9:_-]{20,}/) == nil { return "message.token" }
    for (name, value) in message where name != "token" {
      guard let members = value as? [String: Any] else { return "message.\(name)" }
      let fault =
        switch name {
        case "notification": unknown(members, ["title", "body", "image"])
        case "data": reserved(members)
        case "android": androidViolation(in: members)
        default: "" as String?
        }
      if let fault { return fault.isEmpty ? "message.\(name)" : "message.\(name).\(fault)" }
    }
    return nil
  }

  private static func androidViolation(in android: [String: Any]) -> String? {
    let known = ["collapse_key", "priority", "ttl", "notification"]
    if let name = android.keys.first(where: { !known.contains($0) }) { return name }
    if let priority = android["priority"] as? String, !["NORMAL", "HIGH"].contains(priority) {
      return "priority"
    }
    if let ttl = android["ttl"] as? String,
      ttl.wholeMatch(of: /\d+s/) == nil || Int(ttl.dropLast()) ?? .max > 28 * 86_400
    {
      return "ttl"
    }
    guard let shown = android["notification"] as? [String: Any] else { return nil }
    if shown["notification_count"].map({ !($0 is Int) }) ?? false { return "notification_count" }
    return unknown(
      shown.filter { $0.key != "notification_count" }, ["sound", "tag", "title", "body"])
  }

  /// The first member that is not in `names` or is not a string.
  private static func unknown(_ members: [String: Any], _ names: [String]) -> String? {
    members.first { !names.contains($0.key) || !($0.value is String) }?.key
  }

  private static func reserved(_ data: [String: Any]) -> String? {
    data.first { name, value in
      !(value is String) || ["from", "message_type"].contains(name) || name.hasPrefix("google")
        || name.hasPrefix("gcm")
    }?.key
  }
}

extension Wire {
  fileprivate func answer(_ status: Int, _ body: String = "{}", fields: String = "") {
    write(
      "HTTP/1.1 \(status) -\r\n\(fields)Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
    )
  }

  /// - Parameter field: the wrong field.
  fileprivate func refuse(_ refusal: FakeFCM.Refusal, of field: String? = nil) {
    var details: [String] = []
    if let code = refusal.errorCode {
      details.append(
        #"{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"\#(code)"}"#)
    }
    if let field {
      details.append(
        #"{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"\#(field)","description":"no"}]}"#
      )
    }
    answer(
      refusal.status,
      """
      {"error":{"code":\(refusal.status),"message":"A sentence.","status":"\(refusal.googleStatus)",\
      "details":[\(details.joined(separator: ","))]}}
      """,
      fields: refusal.retryAfter.map { "Retry-After: \($0)\r\n" } ?? "")
  }
}

/// A key pair of 2048 bits. The corresponding C type is `EVP_PKEY`.
// @unchecked: libcrypto only reads a key while it verifies.
private final class RSAKeyPair: @unchecked Sendable {
  private let handle: OpaquePointer

  init() {
    let context = EVP_PKEY_CTX_new_from_name(nil, "RSA", nil)
    defer { EVP_PKEY_CTX_free(context) }
    var key: OpaquePointer?
    let isMade =
      EVP_PKEY_keygen_init(context) == 1 && EVP_PKEY_CTX_set_rsa_keygen_bits(context, 2048) == 1
      && EVP_PKEY_generate(context, &key) == 1
    precondition(isMade, "no key")
    handle = key!
  }

  /// - Returns: nil if `pem` is not a key.
  init?(pem: String) {
    // The BIO does not copy the bytes, so it must not outlive the closure.
    let key = Array(pem.utf8).withUnsafeBufferPointer { bytes in
      let source = BIO_new_mem_buf(bytes.baseAddress, Int32(bytes.count))
      defer { BIO_free(source) }
      return PEM_read_bio_PrivateKey(source, nil, { _, _, _, _ in -1 }, nil)  // no prompt
    }
    guard let key else { return nil }
    handle = key
  }

  deinit { EVP_PKEY_free(handle) }

  /// The private key as PKCS#8 in PEM.
  var pem: String {
    let sink = BIO_new(BIO_s_mem())
    defer { BIO_free(sink) }
    precondition(PEM_write_bio_PrivateKey(sink, handle, nil, nil, 0, nil, nil) == 1, "no PEM")
    var text = [UInt8](repeating: 0, count: 8192)
    let size = BIO_read(sink, &text, Int32(text.count))
    return String(decoding: text[..<Int(size)], as: UTF8.self)
  }

  func verifies(_ signature: [UInt8], of message: String) -> Bool {
    let context = EVP_MD_CTX_new()
    defer { EVP_MD_CTX_free(context) }
    let bytes = Array(message.utf8)
    return EVP_DigestVerifyInit_ex(context, nil, "SHA256", nil, nil, handle, nil) == 1
      && EVP_DigestVerify(context, signature, signature.count, bytes, bytes.count) == 1
  }
}
