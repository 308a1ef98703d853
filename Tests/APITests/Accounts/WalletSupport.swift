import Base
import Cryptography
import Foundation
import HTTP
import Store
import Support
import Synchronization
import Testing

@testable import API

/// Paths of the wallet's family.
enum WalletPath {
  static let registerDevice = "/api/mobile/device/register"
  static let register = "/api/mobile/auth/register"
  static let login = "/api/mobile/auth/login"
  static let verify = "/api/mobile/auth/login/verify"
  static let refresh = "/api/mobile/auth/token/refresh"
  static let logout = "/api/mobile/auth/logout"
  static let summary = "/api/mobile/wallet/summary"
  static let cards = "/api/mobile/wallet/cards"
  static let banks = "/api/mobile/enrollment/banks"
  static let enrollments = "/api/mobile/enrollment/list"
  static let devices = "/api/mobile/devices"
  static let pushToken = "/api/mobile/device/push-token"
}

/// 64 characters, as APNs hands them out; another one for each `letter`.
func walletPushToken(_ letter: Character = "a") -> String { String(repeating: letter, count: 64) }

/// `members` as JSON text; nil leaves a member out.
func walletJSON(_ members: [String: Any?]) -> String {
  let data = try! JSONSerialization.data(
    withJSONObject: members.compactMapValues { $0 }, options: .sortedKeys)
  return String(decoding: data, as: UTF8.self)
}

/// `members` without `name`, or with another value for it.
func walletBody(_ members: [String: any Sendable], but name: String, is value: (any Sendable)?)
  -> String
{
  var members: [String: any Sendable] = members
  members[name] = value
  return walletJSON(members)
}

/// An instant as the answers write it, formatted by somebody else.
func walletTime(_ instant: Timestamp) -> String {
  Date(timeIntervalSince1970: Double(instant.seconds)).formatted(.iso8601)
}

/// The claims of a token, unverified.
func walletClaims(_ token: String) -> [String: Any] {
  walletSegment(token, 1)
}

func walletHeader(_ token: String) -> [String: Any] {
  walletSegment(token, 0)
}

private func walletSegment(_ token: String, _ index: Int) -> [String: Any] {
  let parts = token.split(separator: ".", omittingEmptySubsequences: false)
  guard parts.count == 3, let bytes = base64URLDecoded(String(parts[index])) else { return [:] }
  return (try? JSONSerialization.jsonObject(with: Data(bytes))) as? [String: Any] ?? [:]
}

/// `claims` signed as the site signs.
func walletToken(_ claims: [String: Any?], key: Key = TestApplication.keys.newest) -> String {
  JSONWebToken.sign(Array(walletJSON(claims).utf8), with: key)
}

/// Calls `work` on `count` threads that begin together, and waits for all of them.
func simultaneously<T: Sendable>(
  _ count: Int, _ work: @escaping @Sendable (Int) -> T
) -> [T] {
  let results = Results<T>()
  let (ready, go, done) = (
    DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
  )
  for number in 0..<count {
    Thread.detachNewThread {
      ready.signal()
      go.wait()
      results.append(work(number))
      done.signal()
    }
  }
  for _ in 0..<count { ready.wait() }
  for _ in 0..<count { go.signal() }
  for _ in 0..<count { done.wait() }
  return results.all
}

private final class Results<T: Sendable>: Sendable {
  private let values = Mutex<[T]>([])

  func append(_ value: T) { values.withLock { $0.append(value) } }

  var all: [T] { values.withLock { $0 } }
}

extension Answer {
  /// Whether this is the wallet's error body and nothing else.
  func isError(_ status: Int, _ code: String, _ message: String? = nil) -> Bool {
    let body = (try? JSONSerialization.jsonObject(with: Data(response.body))) as? [String: Any]
    return self.status == status && body?.count == 2 && string("error") == code
      && string("message")?.isEmpty == false
      && (message == nil || string("message") == message)
      && field("Content-Type") == "application/json" && field("Cache-Control") == "no-store"
  }

  var retryAfter: Int? { field("Retry-After").flatMap { Int($0) } }

  /// The tokens of an answer to a sign-in or a refresh.
  var accessToken: String? { string("tokens", "accessToken") ?? string("accessToken") }
  var refreshToken: String? { string("tokens", "refreshToken") ?? string("refreshToken") }
}

extension TestApplication {
  /// Registers a device and returns its credential.
  @discardableResult
  func registerDevice(
    _ id: String = "device-1", name: String = "Phone", platform: String = "ios",
    pushToken: String? = nil, address: String = "192.0.2.1"
  ) throws -> String {
    let answer = send(
      "POST", WalletPath.registerDevice,
      walletJSON([
        "deviceId": id, "deviceName": name, "platform": platform, "pushToken": pushToken,
      ]), address: address)
    try #require(answer.status == 200, "\(answer.text)")
    return try #require(answer.string("deviceCredential"))
  }

  func requestCode(
    _ email: String = "ann@example.org", device: String = "device-1", name: String? = "Phone",
    platform: String? = "ios", address: String = "192.0.2.1"
  ) -> Answer {
    send(
      "POST", WalletPath.login,
      walletJSON(["email": email, "deviceId": device, "deviceName": name, "platform": platform]),
      address: address)
  }

  func verify(
    _ email: String = "ann@example.org", code: String, device: String = "device-1",
    credential: String? = nil, address: String = "192.0.2.1"
  ) -> Answer {
    send(
      "POST", WalletPath.verify, walletJSON(["email": email, "deviceId": device, "code": code]),
      fields: credential.map { [(name: "X-Device-Credential", value: $0)] } ?? [], address: address)
  }

  /// Signs in to an account that exists.
  func signIn(
    _ email: String = "ann@example.org", device: String = "device-1", name: String? = "Phone",
    address: String = "192.0.2.1"
  ) throws -> SignedIn {
    let asked = requestCode(email, device: device, name: name, address: address)
    try #require(asked.status == 200, "\(asked.text)")
    let answer = verify(email, code: try mailedCode(), device: device, address: address)
    try #require(answer.status == 200, "\(answer.text)")
    return SignedIn(
      email: email, deviceID: device, accountID: try #require(answer.string("user", "id")),
      accessToken: try #require(answer.accessToken),
      refreshToken: try #require(answer.refreshToken))
  }

  func refresh(_ token: String, address: String = "192.0.2.1") -> Answer {
    send("POST", WalletPath.refresh, walletJSON(["refreshToken": token]), address: address)
  }

  /// Uses an access token.
  func summary(
    _ token: String, credential: String? = nil, address: String = "192.0.2.1"
  ) -> Answer {
    send(
      "GET", WalletPath.summary, token: token,
      fields: credential.map { [(name: "X-Device-Credential", value: $0)] } ?? [], address: address)
  }

  /// How many rows `rest`, a table and perhaps a condition, has.
  func count(_ rest: String) -> Int { Int(sql("SELECT COUNT(*) FROM \(rest)")) ?? -1 }

  /// All rows of the tables, to be compared.
  func rows(_ tables: String...) -> String {
    tables.map { "\($0): " + sql("SELECT * FROM \($0) ORDER BY 1, 2") }.joined(separator: "\n")
  }

  /// A responder beside this one, with the same database and clock.
  func sibling(
    jwtKeys: Keyring = keys, hmacKeys: Keyring = keys, credentialKeys: Keyring = keys,
    publicURL: String = publicURL, passkeyOrigins: [String] = [],
    random: @escaping @Sendable (Int) -> [UInt8] = randomBytes
  ) -> Application {
    Application(
      database: database,
      settings: API.Settings(
        environment: .development, publicURL: publicURL, jwtKeys: jwtKeys, hmacKeys: hmacKeys,
        credentialKeys: credentialKeys, knockSocket: nil, passkeyOrigins: passkeyOrigins),
      log: Evidence.log(of: root.database), clock: { self.now },
      random: random)
  }
}

extension Application {
  /// What `TestApplication.send` does, for a responder of another make.
  func send(
    _ method: String, _ path: String, _ json: String = "", token: String? = nil,
    fields: [(name: String, value: String)] = []
  ) -> Answer {
    let bearer = token.map { [(name: "Authorization", value: "Bearer \($0)")] } ?? []
    return Answer(
      respond(
        to: Request(
          method: method, path: path, fields: bearer + fields, body: Array(json.utf8),
          remoteAddress: "192.0.2.1", requestID: "request-1")))
  }
}
