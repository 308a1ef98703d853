import Base
import Cryptography
import Foundation
import HTTP
import MariaDB
import Program
import Store
import Support
import Synchronization
import Testing

@testable import API

/// A responder without a web server, with a database of its own under the responder's least rights,
/// and a clock that stands until it is moved.
final class TestApplication: Sendable {
  let application: Application
  let database: Database
  /// The rights of everybody.
  let root: ConnectionSettings
  private let clock: Clock

  static let publicURL = "https://api.example.org"
  static let keys = try! Keyring(
    parsing: "k1:" + base64URLEncoded([UInt8](repeating: 7, count: 32)))
  static let settings = settings(agent: nil, attestation: AttestationPolicy())

  private static func settings(
    agent: GuardedAgent?, attestation: AttestationPolicy
  ) -> API.Settings {
    API.Settings(
      environment: .development, publicURL: publicURL, jwtKeys: keys, hmacKeys: keys,
      credentialKeys: keys, knockSocket: nil, masterKeyHash: sha256("test-master-key-123"),
      agent: agent, attestation: attestation)
  }

  private final class Clock: Sendable {
    let now = Mutex(Timestamp(seconds: 1_795_000_000))
  }

  init(
    _ root: ConnectionSettings, agent: GuardedAgent? = nil,
    attestation: AttestationPolicy = AttestationPolicy(),
    random: @escaping @Sendable (Int) -> [UInt8] = randomBytes
  ) {
    self.root = root
    database = Database(accountSettings(of: "responder", in: root))
    clock = Clock()
    application = Application(
      database: database, settings: Self.settings(agent: agent, attestation: attestation),
      log: Evidence.log(of: root.database),
      clock: { [clock] in clock.now.withLock { $0 } }, random: random)
  }

  var now: Timestamp { clock.now.withLock { $0 } }

  func advance(by span: Duration) {
    clock.now.withLock { $0 = $0 + span }
  }

  /// What SQL prints as the database's root: a line for each row, tabs between columns.
  @discardableResult
  func sql(_ statement: String) -> String {
    MariaDBServer.shared.run(statement, database: root.database)
      .trimmingCharacters(in: .whitespacesAndNewlines)
  }

  func send(
    _ method: String, _ path: String, _ json: String = "", token: String? = nil, query: String = "",
    fields: [(name: String, value: String)] = [], address: String = "192.0.2.1",
    requestID: String = "request-1"
  ) -> Answer {
    let bearer = token.map { [(name: "Authorization", value: "Bearer \($0)")] } ?? []
    return Answer(
      application.respond(
        to: Request(
          method: method, path: path, query: query, fields: bearer + fields, body: Array(json.utf8),
          remoteAddress: address, requestID: requestID)))
  }
}

/// Calls `body` with a responder of its own.
func withApplication<T>(
  agent: GuardedAgent? = nil, attestation: AttestationPolicy = AttestationPolicy(),
  random: @escaping @Sendable (Int) -> [UInt8] = randomBytes,
  _ body: (TestApplication) throws -> T
) throws -> T {
  try withDatabase {
    try body(TestApplication($0, agent: agent, attestation: attestation, random: random))
  }
}

/// A response, its body read as JSON.
struct Answer {
  let response: Response

  init(_ response: Response) {
    self.response = response
    Evidence.keep(answer: response.body)
  }

  var status: Int { response.status }
  var text: String { String(decoding: response.body, as: UTF8.self) }

  func field(_ name: String) -> String? {
    response.fields.first { $0.name.lowercased() == name.lowercased() }?.value
  }

  /// The value at a path of member names and array indices, or nil.
  subscript(path: any Sendable...) -> Any? {
    var value = try? JSONSerialization.jsonObject(
      with: Data(response.body), options: .fragmentsAllowed)
    for step in path {
      switch step {
      case let name as String: value = (value as? [String: Any])?[name]
      case let index as Int:
        let array = value as? [Any] ?? []
        value = array.indices.contains(index) ? array[index] : nil
      default: return nil
      }
    }
    return value is NSNull ? nil : value
  }

  func string(_ path: any Sendable...) -> String? {
    var value: Any? = try? JSONSerialization.jsonObject(with: Data(response.body))
    for step in path { value = (value as? [String: Any])?[step as? String ?? ""] }
    return value as? String
  }
}

/// Somebody who has signed in on a device.
struct SignedIn {
  let email: String
  let deviceID: String
  let accountID: String
  let accessToken: String
  let refreshToken: String
}

extension TestApplication {
  /// Makes an account and signs it in.
  func signUp(
    email: String = "ann@example.org", device: String = "device-1", platform: String = "ios",
    address: String = "192.0.2.1"
  ) throws -> SignedIn {
    let answer = send(
      "POST", "/api/mobile/auth/register",
      #"{"email":"\#(email)","name":"Ann","deviceId":"\#(device)","deviceName":"Phone","platform":"\#(platform)"}"#,
      address: address)
    try #require(answer.status == 201, "\(answer.text)")
    return SignedIn(
      email: email, deviceID: device, accountID: try #require(answer.string("user", "id")),
      accessToken: try #require(answer.string("tokens", "accessToken")),
      refreshToken: try #require(answer.string("tokens", "refreshToken")))
  }

  /// The code that the newest open mail in the outbox carries, opened as the companion does.
  func mailedCode() throws -> String {
    let row = sql(
      "SELECT id, sealed FROM outbox WHERE state = 'open' ORDER BY created_at DESC, id DESC LIMIT 1"
    )
    let columns = row.split(separator: "\t").map(String.init)
    try #require(columns.count == 2)
    let code = try Cryptography.open(
      columns[1], authenticating: Mail.sealingContext(columns[0]), with: Self.keys)
    Evidence.keep(code: String(decoding: code, as: UTF8.self), of: root.database)
    return String(decoding: code, as: UTF8.self)
  }
}
