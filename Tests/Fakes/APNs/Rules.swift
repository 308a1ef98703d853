import Cryptography
import Foundation

/// A client's request.
struct PushRequest {
  var method: [UInt8] = []
  var path: [UInt8] = []
  var authorization: [UInt8] = []
  var topic: [UInt8] = []
  var pushType: [UInt8] = []
  var id: [UInt8] = []
  var collapseID: [UInt8] = []
  var expiration: [UInt8] = []
  var priority: [UInt8] = []
  var payload: [UInt8] = []

  mutating func set(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) {
    func store(_ field: inout [UInt8], ifNamed text: StaticString) {
      guard text.utf8CodeUnitCount == name.count,
        memcmp(text.utf8Start, name.baseAddress!, name.count) == 0
      else { return }
      field.removeAll(keepingCapacity: true)
      field.append(contentsOf: value)
    }
    store(&path, ifNamed: ":path")
    store(&method, ifNamed: ":method")
    store(&authorization, ifNamed: "authorization")
    store(&topic, ifNamed: "apns-topic")
    store(&pushType, ifNamed: "apns-push-type")
    store(&id, ifNamed: "apns-id")
    store(&collapseID, ifNamed: "apns-collapse-id")
    store(&expiration, ifNamed: "apns-expiration")
    store(&priority, ifNamed: "apns-priority")
  }

  /// Clears the request, and keeps its memory for the next one.
  mutating func clear() {
    path.removeAll(keepingCapacity: true)
    method.removeAll(keepingCapacity: true)
    authorization.removeAll(keepingCapacity: true)
    topic.removeAll(keepingCapacity: true)
    pushType.removeAll(keepingCapacity: true)
    id.removeAll(keepingCapacity: true)
    collapseID.removeAll(keepingCapacity: true)
    expiration.removeAll(keepingCapacity: true)
    priority.removeAll(keepingCapacity: true)
    payload.removeAll(keepingCapacity: true)
  }

  static let pathPrefix = Array("/3/device/".utf8)

  var token: String {
    String(decoding: path.dropFirst(Self.pathPrefix.count), as: UTF8.self)
  }
}

/// Apple's rules: the accepted requests, and the reason for each refusal.
struct Rules {
  private let topics: [[UInt8]]
  private var tokens: ProviderTokens?
  let faults: Faults

  init(topics: [String], tokens: ProviderTokens?, faults: Faults) {
    self.topics = topics.map { Array($0.utf8) }
    self.tokens = tokens
    self.faults = faults
  }

  /// The refusal of a request; nil means 200.
  mutating func refusal(of request: PushRequest, number: Int) -> Faults.Answer? {
    if let fault = faults.answer(number, token: faults.answerTo.isEmpty ? "" : request.token) {
      return fault
    }
    if request.method != Array("POST".utf8) { return refusal(405, "MethodNotAllowed") }
    if let (status, reason) = tokens?.refusal(of: request.authorization) {
      return refusal(status, reason)
    }
    if !request.path.starts(with: PushRequest.pathPrefix) { return refusal(404, "BadPath") }
    let token = request.path.dropFirst(PushRequest.pathPrefix.count)
    if token.isEmpty { return refusal(400, "MissingDeviceToken") }
    if !token.allSatisfy(isHex) || !token.count.isMultiple(of: 2) {
      return refusal(400, "BadDeviceToken")
    }
    if request.topic.isEmpty { return refusal(400, "MissingTopic") }
    if !topics.contains(request.topic) { return refusal(400, "DeviceTokenNotForTopic") }
    return refusalOfFields(request)
  }

  private func refusalOfFields(_ request: PushRequest) -> Faults.Answer? {
    if !["alert", "background"].contains(String(decoding: request.pushType, as: UTF8.self)) {
      return refusal(400, "InvalidPushType")
    }
    if !isUUID(request.id) { return refusal(400, "BadMessageId") }
    if request.collapseID.count > 64 { return refusal(400, "BadCollapseId") }
    if !request.expiration.allSatisfy({ (0x30...0x39).contains($0) }) {
      return refusal(400, "BadExpirationDate")
    }
    if !["", "1", "5", "10"].contains(String(decoding: request.priority, as: UTF8.self)) {
      return refusal(400, "BadPriority")
    }
    if request.payload.isEmpty { return refusal(400, "PayloadEmpty") }
    if request.payload.count > 4096 { return refusal(413, "PayloadTooLarge") }
    return nil
  }

  private func refusal(_ status: Int, _ reason: String) -> Faults.Answer {
    Faults.Answer(status: status, reason: reason, timestamp: nil)
  }

  /// True also for a missing id: Apple then makes one.
  private func isUUID(_ id: [UInt8]) -> Bool {
    id.isEmpty
      || id.count == 36
        && id.enumerated().allSatisfy { index, byte in
          [8, 13, 18, 23].contains(index) ? byte == UInt8(ascii: "-") : isHex(byte)
        }
  }
}

private func isHex(_ byte: UInt8) -> Bool {
  switch byte {
  case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
    UInt8(ascii: "A")...UInt8(ascii: "F"):
    true
  default: false
  }
}

/// Apple's view of a team's provider tokens.
struct ProviderTokens {
  /// In seconds.
  static let lifetime: Int64 = 60 * 60
  static let interval: Int64 = 20 * 60

  private let keyID: String
  private let teamID: String
  private let key: P256PublicKey
  private let clock: String?
  /// The issue times of tokens with a valid signature.
  private var issuedAt: [[UInt8]: Int64] = [:]
  /// The current token, and the time since when it is current.
  private var current: (token: [UInt8], since: Int64)?

  init(keyID: String, teamID: String, key: P256PublicKey, clock: String?) {
    self.keyID = keyID
    self.teamID = teamID
    self.key = key
    self.clock = clock
  }

  mutating func refusal(of authorization: [UInt8]) -> (Int, String)? {
    guard !authorization.isEmpty else { return (403, "MissingProviderToken") }
    guard let issued = issuedAt[authorization] ?? verified(authorization) else {
      return (403, "InvalidProviderToken")
    }
    issuedAt[authorization] = issued
    let now = now
    if issued > now + 60 || issued < now - Self.lifetime { return (403, "ExpiredProviderToken") }
    if current?.token == authorization { return nil }
    if let current, now - current.since < Self.interval, issued >= issuedAt[current.token] ?? 0 {
      return (429, "TooManyProviderTokenUpdates")
    }
    // An older token in use elsewhere stays valid, but does not become the current one again.
    if issued >= current.flatMap({ issuedAt[$0.token] }) ?? 0 { current = (authorization, now) }
    return nil
  }

  private var now: Int64 {
    guard let clock else { return Int64(Date.now.timeIntervalSince1970) }
    return (try? text(of: clock)).flatMap { Int64($0.filter(\.isNumber)) } ?? 0
  }

  /// The `iat` of a bearer token that our key signed.
  private func verified(_ authorization: [UInt8]) -> Int64? {
    struct Header: Decodable {
      let alg: String
      let kid: String
    }
    struct Claims: Decodable {
      let iss: String
      let iat: Int64
    }
    let text = String(decoding: authorization, as: UTF8.self)
    guard text.lowercased().hasPrefix("bearer ") else { return nil }
    let parts = text.dropFirst(7).split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let signature = base64URLDecoded(String(parts[2])),
      key.isES256(signature, of: Array("\(parts[0]).\(parts[1])".utf8).span),
      let header = base64URLDecoded(String(parts[0])),
      let claims = base64URLDecoded(String(parts[1])),
      let head = try? JSONDecoder().decode(Header.self, from: Data(header)),
      let said = try? JSONDecoder().decode(Claims.self, from: Data(claims))
    else { return nil }
    return head.alg == "ES256" && head.kid == keyID && said.iss == teamID ? said.iat : nil
  }
}
