import Foundation
import MariaDB
import Store
import Support
import Testing

/// Exit statuses of `switchboard-responder`. systemd restarts a program that ended with 1, and does
/// not restart a program that ended with 78.
@Suite struct ExitCodeTests {
  private static let complete = [
    "SWITCHBOARD_PUBLIC_URL": "https://api.example.org", "SWITCHBOARD_JWT_KEYS": "k1:\(key)",
    "SWITCHBOARD_HMAC_KEYS": "k1:\(key)", "SWITCHBOARD_CREDENTIAL_KEYS": "k1:\(key)",
    "SWITCHBOARD_PAYMENT_KEYS": "k1:\(paymentKey)",
    "SWITCHBOARD_COMPANION_PUBLIC_KEYS": "public:c1:\(publicKey)",
  ]
  private static let key = String(repeating: "A", count: 43)
  private static let paymentKey = "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI"
  private static let publicKey = "MdSras7slhE3kXA3k25gcW-sVzr-lNnahKgCBEjfwRI"

  /// - Returns: the status and the log.
  private func run(_ environment: [String: String]) -> (status: Int32, output: String) {
    let words = environment.map { "\($0)=\($1)" }
    return runProgram("env", ["-i"] + words + [builtProgram("switchboard-responder").path()])
  }

  @Test func withoutItsVariablesItEndsWith78() {
    let (status, output) = run([:])
    #expect(status == 78)
    #expect(output.contains("SWITCHBOARD_DB_USER is missing"))
  }

  @Test func withAShortMasterKeyItEndsWith78() {
    let (status, output) = run(
      Self.complete.merging([
        "SWITCHBOARD_DB_SOCKET": "/nonexistent", "SWITCHBOARD_DB_USER": "x",
        "MASTER_API_KEY": "changeme",
      ]) { $1 })
    #expect(status == 78)
    #expect(output.contains("MASTER_API_KEY must have at least 32 bytes"))
    #expect(!output.contains("changeme"))
  }

  @Test func withoutPaymentKeysOrWithUnusableOnesItEndsWith78AndSaysWhatToDo() {
    let missing = run(Self.complete.filter { $0.key != "SWITCHBOARD_PAYMENT_KEYS" })
    #expect(missing.status == 78)
    #expect(missing.output.contains("SWITCHBOARD_PAYMENT_KEYS is missing"))
    #expect(missing.output.contains("the keys that sign the statements of payments"))
    // Zero is no private scalar.
    let zero = run(Self.complete.merging(["SWITCHBOARD_PAYMENT_KEYS": "k1:\(Self.key)"]) { $1 })
    #expect(zero.status == 78)
    #expect(zero.output.contains("SWITCHBOARD_PAYMENT_KEYS must be a list of id:base64url"))
    #expect(zero.output.contains("switchboard-companion keys add"))
    #expect(!zero.output.contains(Self.key))
  }

  @Test func withTheSchemaOfAnotherVersionItEndsWith1AndSaysWhatToDo() throws {
    try withDatabase { root in
      _ = MariaDBServer.shared.run(
        "UPDATE schema_version SET version = 0", database: root.database)
      let account = accountSettings(of: "responder", in: root)
      let (status, output) = run(
        Self.complete.merging([
          "SWITCHBOARD_DB_SOCKET": account.socket!, "SWITCHBOARD_DB_NAME": account.database,
          "SWITCHBOARD_DB_USER": account.user,
        ]) { $1 })
      #expect(status == 1)
      #expect(
        output.contains(
          "The schema has version 0, this program needs version \(Database.schemaVersion): apply"))
    }
  }
}
