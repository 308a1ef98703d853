import Base
import Cryptography
import Foundation
import MariaDB
import ProcessSupport
import SharedSettings
import Store
import Support
import Testing

@testable import Delivery

extension Companion {
  /// Does the work that a person may be waiting for.
  ///
  /// - Throws: if the database does not answer.
  func doUrgentWork() throws {
    let work = UrgentWork(of: self)
    work.wake()
    try work.finish()
  }
}

/// A database with an account of Ann's, and a folder, for tests of the companion.
struct TestDelivery: Sendable {
  let root: ConnectionSettings
  let folder: String
  var server = MariaDBServer.shared

  static let boxKeys = try! BoxKeys(
    parsing: "c1:" + base64URLEncoded([UInt8](repeating: 7, count: 32)))
  static let keys = CompanionKeys(boxKeys)
  /// The keys that sign links in mails and pairing tokens; earlier versions also sealed with them.
  static let keyring = try! Keyring(
    parsing: "k1:" + base64URLEncoded([UInt8](repeating: 7, count: 32)))

  /// Settings of an unused address: tests with these settings register no user.
  static let polling = PollSettings(
    baseURL: "http://127.0.0.1:9", contact: "admin@example.org", requestsPerSecond: 5,
    pace: PollPace(interval: .seconds(30)), prefix: "")

  /// The address range of the tests' servers.
  static let loopback = OutboundRule(allowing: [IPNetwork("127.0.0.0/8")!])

  /// A companion with only its own rights.
  func companion(
    mailer: Mailer?, keys: CompanionKeys = keys, polling: PollSettings? = polling,
    apns: APNsSettings? = nil, channels: [DeliveryChannel]? = nil, missingForPushes: [String] = [],
    publicURL: String? = nil, outbound: OutboundRule = loopback, clock: LimitClock = .still
  ) -> Companion {
    Companion(
      database: Database(accountSettings(of: "companion", in: root)),
      settings: Settings(
        keys: keys, mailer: mailer, sender: "switchboard@example.org",
        auditLifetime: .seconds(365 * 86_400), interval: .seconds(30),
        polling: polling, apns: apns.map { [$0] } ?? [], missingForPushes: missingForPushes,
        publicURL: publicURL, outbound: outbound, clock: clock),
      log: Evidence.log(of: root.database), channels: channels)
  }

  /// The records with the responder's rights.
  func responder(
    at now: Timestamp = .now(), sealingFor keys: BoxPublicKeys = boxKeys.publicKeys
  ) -> Records {
    Database(account(of: "responder"), mailKeys: MailKeys(sealing: keys, links: Self.keyring))
      .records(at: now, from: Origin(requestID: "request", address: "192.0.2.1"))
  }

  /// The outbox of notifications, with the companion's rights.
  var deliveries: Deliveries {
    companionDatabase.records(at: .now(), from: .companion).deliveries
  }

  /// The settings with a program's minimum rights.
  func account(of program: String) -> ConnectionSettings {
    guard server !== MariaDBServer.shared else { return accountSettings(of: program, in: root) }
    return ConnectionSettings(
      socket: root.socket, database: root.database, user: program, password: nil)
  }

  /// The result of SQL as root: one line per row, tabs between columns.
  @discardableResult
  func sql(_ statements: String) -> String {
    server.run(statements, database: root.database)
      .trimmingCharacters(in: .newlines)
  }

  /// Requests a code, like the responder.
  ///
  /// - Returns: the id of the mail.
  @discardableResult
  func requestCode(
    _ code: String = "012345", email: String = "ann@example.org",
    sealedFor keys: BoxPublicKeys = boxKeys.publicKeys
  ) throws -> String {
    let now = Timestamp.now()
    let id = timeOrderedUUID(milliseconds: now.milliseconds)
    let new = NewLoginCode(
      email: email, challengeHash: randomBytes(32), codeMAC: randomBytes(32), mailID: id,
      digits: code, expiresAt: now + .seconds(300))
    let start = try responder(at: now, sealingFor: keys).loginCodes.start(
      with: new, or: nil,
      on: SigningDevice(clientDeviceID: id, name: "D", platform: .ios, credentialHash: nil))
    try #require(start == .codeMailed)
    return id
  }

  /// A command that runs `lines` of shell, which may ignore their standard input.
  ///
  /// The shell reads the file, because an executed file must not be open for writing, and another
  /// test's child may still hold it open between fork and exec.
  func script(_ lines: String) throws -> String {
    let path = "\(folder)/script-\(UUID().uuidString)"
    try Data("\(lines)\n".utf8).write(to: URL(filePath: path))
    return "/bin/sh \(path)"
  }

  func text(_ file: String) throws -> String {
    try String(contentsOfFile: "\(folder)/\(file)", encoding: .utf8)
  }

  var files: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: folder).sorted() }
  }
}

/// Calls `body` with a new folder.
func withFolder<T>(_ body: (TestDelivery) throws -> T) throws -> T {
  signal(SIGPIPE, SIG_IGN)  // like the companion
  let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path()
  try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(atPath: folder) }
  let nowhere = ConnectionSettings(socket: "/nonexistent", database: "x", user: "x")
  return try body(TestDelivery(root: nowhere, folder: folder))
}

/// Calls `body` with a new database and a new folder.
func withDelivery<T>(_ body: (TestDelivery) throws -> T) throws -> T {
  try withFolder { empty in
    try withDatabase { root in
      let delivery = TestDelivery(root: root, folder: empty.folder)
      delivery.sql(
        """
        INSERT INTO accounts (id, email, name, username, wallet_id, created_at)
        VALUES (UUID(), 'ann@example.org', 'Ann', 'ann@example.org', 'wsim_ABCDEFGHIJKL', NOW(3))
        """)
      return try body(delivery)
    }
  }
}

/// Calls `body` with a database on a new server, which may be killed.
func withDeliveryOnItsOwnServer<T>(
  options: [String] = [], _ body: (TestDelivery) throws -> T
) throws -> T {
  try withFolder { empty in
    let server = MariaDBServer(options: options)
    defer { server.kill() }
    server.createDatabase("own", schema: schemaOfTests)
    for program in ["companion", "responder"] {
      server.run(
        """
        CREATE USER \(program)@localhost; GRANT switchboard_\(program) TO \(program)@localhost;
        SET DEFAULT ROLE switchboard_\(program) FOR \(program)@localhost;
        """)
    }
    return try body(
      TestDelivery(
        root: server.settings(database: "own"), folder: empty.folder, server: server))
  }
}
