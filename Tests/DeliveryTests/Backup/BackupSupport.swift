import Cryptography
import Foundation
import Store
import Support
import Testing

@testable import Delivery

/// A server with its own database, the files of a site, and a pair of age's keys.
struct TestBackup {
  let delivery: TestDelivery
  let recipient: String

  var folder: String { delivery.folder }
  var root: String { folder + "/root" }
  var secrets: String { root + "/etc/switchboard/secrets" }
  var file: String { folder + "/backup.age" }
  var identity: String { folder + "/identity" }
  private var options: String { folder + "/client.cnf" }

  init(_ delivery: TestDelivery) throws {
    self.delivery = delivery
    let folder = delivery.folder
    let made = runProgram("age-keygen", ["-o", folder + "/identity"])
    recipient = try #require(made.output.firstMatch(of: #/age1\w+/#)).output.description
    try FileManager.default.createDirectory(
      atPath: folder + "/root/etc/switchboard/secrets", withIntermediateDirectories: true)
    try write(
      "SWITCHBOARD_PUBLIC_URL=https://a.example\nSWITCHBOARD_DB_NAME=own\n", to: "../environment")
    for name in ["jwt-keys", "hmac-keys", "credential-keys", "payment-keys"] {
      try write("k1:" + base64URLEncoded([UInt8](repeating: 7, count: 32)) + "\n", to: name)
    }
    try write(
      "c1:" + base64URLEncoded([UInt8](repeating: 7, count: 32)) + "\n", to: "companion-keys")
    try Data("[client]\nsocket=\(delivery.root.socket!)\nuser=root\n".utf8)
      .write(to: URL(filePath: options))
  }

  func write(_ text: String, to secret: String) throws {
    let path = "\(secrets)/\(secret)"
    try Data(text.utf8).write(to: URL(filePath: path))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
  }

  func secret(_ name: String) throws -> String {
    try String(contentsOfFile: "\(secrets)/\(name)", encoding: .utf8)
  }

  /// Runs `switchboard-companion` with the options that both commands need.
  func run(_ arguments: [String]) -> (status: Int32, output: String) {
    runProgram(builtProgram("switchboard-companion").path(), arguments + siteOptions)
  }

  var siteOptions: [String] { ["--defaults-file", options, "--root", root] }

  func backUp(_ more: [String] = [], to path: String? = nil) -> (status: Int32, output: String) {
    run(["backup", "--to", path ?? file, "--recipient", recipient, "--database", "own"] + more)
  }

  func restore(
    _ more: [String] = ["--yes", "--replace"], of path: String? = nil
  ) -> (status: Int32, output: String) {
    run(
      ["restore", path ?? file]
        + (more.contains("--identity") ? [] : ["--identity", identity])
        + (more.contains("--schema") ? [] : ["--schema", projectSchema.path()]) + more)
  }

  /// Runs a line of shell with these variables: FILE, IDENTITY, RECIPIENT, FOLDER, OPTIONS.
  @discardableResult
  func shell(_ line: String) -> String {
    let variables = [
      "FILE=\(file)", "IDENTITY=\(identity)", "RECIPIENT=\(recipient)", "FOLDER=\(folder)",
      "OPTIONS=\(options)",
    ]
    let result = runProgram("env", variables + ["bash", "-euo", "pipefail", "-c", line])
    #expect(result.status == 0, "\(result.output)")
    return result.output
  }

  /// Everything that a restore can change: the databases, their rows, and the files.
  func everything() -> String {
    let databases = delivery.server.run("SHOW DATABASES")
    let tables = delivery.sql(
      """
      SET SESSION group_concat_max_len = 100000;
      SELECT GROUP_CONCAT(TABLE_NAME ORDER BY TABLE_NAME) FROM information_schema.TABLES
      WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE'
      """)
    let rows = delivery.sql("CHECKSUM TABLE \(tables)")
    return databases + rows + shell("cd $FOLDER/root && find . -type f | sort | xargs sha256sum")
  }
}

/// Calls `body` with a site that has rows and files.
func withBackup(_ body: (TestBackup) throws -> Void) throws {
  try withDeliveryOnItsOwnServer { delivery throws in
    let backup = try TestBackup(delivery)
    delivery.sql(
      """
      INSERT INTO accounts (id, email, name, username, wallet_id, created_at)
      VALUES (UUID(), 'ann@example.org', 'Ann', 'ann@example.org', 'wsim_ABCDEFGHIJKL', NOW(3))
      """)
    try body(backup)
  }
}
