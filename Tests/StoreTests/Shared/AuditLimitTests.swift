import Base
import Support
import Testing

@testable import Store

/// The audit log's refusals are limited per address and kind.
@Suite struct AuditLimitTests {
  private static let start = Timestamp(seconds: 1_795_000_000)
  private static let refused = AuditEvent.refusal("code_refused")

  private static func write(
    _ event: AuditEvent = refused, in database: Database, address: String = "192.0.2.1",
    at now: Timestamp = start
  ) throws {
    let records = database.records(at: now, from: Origin(requestID: "r", address: address))
    try records.transaction { transaction in try transaction.audit.write(event) }
  }

  /// A store with an empty audit log and `hits` counted refusals of 192.0.2.1.
  private static func withHits(
    _ hits: Int, _ body: (_ store: TestStore, _ database: Database) throws -> Void
  ) throws {
    try withStore { store throws in
      let database = store.database("responder")
      try write(in: database)
      store.sql("UPDATE rate_limits SET hits = \(hits)")
      store.sql("DELETE FROM audit_log")
      try body(store, database)
    }
  }

  @Test func refusalsOverTheLimitAreCountedButNotWritten() throws {
    try Self.withHits(598) { store, database in
      for _ in 1...5 { try Self.write(in: database) }
      #expect(store.sql("SELECT COUNT(*) FROM audit_log") == "2")
      #expect(
        store.sql("SELECT name, subject, hits, allowed FROM rate_limits")
          == "audit-code_refused\t192.0.2.1\t603\t600")
      try Self.write(in: database, at: Self.start + .seconds(3600))
      #expect(store.sql("SELECT COUNT(*) FROM audit_log") == "3")
    }
  }

  @Test func kindsAndAddressesAreCountedSeparately() throws {
    try Self.withHits(600) { store, database in
      try Self.write(.refusal("code_dead"), in: database)
      try Self.write(in: database, address: "192.0.2.2")
      try Self.write(in: database, address: "2001:db8::1")
      #expect(store.sql("SELECT COUNT(*) FROM audit_log") == "3")
      #expect(
        store.sql("SELECT subject, allowed FROM rate_limits WHERE subject LIKE '2001%'")
          == "2001:db8:0:0::/64\t600\n2001:db8:0::/48\t6000")
    }
  }

  @Test func whatIsNoRefusalIsAlwaysWritten() throws {
    try Self.withHits(600) { store, database in
      for _ in 1...3 { try Self.write(AuditEvent("code_refused"), in: database) }
      #expect(store.sql("SELECT COUNT(*) FROM audit_log") == "3")
      #expect(store.sql("SELECT hits FROM rate_limits") == "600")
    }
  }

  @Test func sixtyFourRefusalsAtOnceAreWrittenAsOftenAsAllowed() throws {
    try Self.withHits(570) { store, database in
      _ = try inParallel(64) { _ in try Self.write(in: database) }
      #expect(store.sql("SELECT COUNT(*) FROM audit_log") == "30")
      #expect(store.sql("SELECT hits FROM rate_limits") == "634")
    }
  }

  @Test func theRefusalsOfEveryRoomAreLimited() {
    let events: [AuditEvent] = [
      .biometricLocked, .biometricRefused, .codeDead, .codeRefused, .credentialRefused,
      .passkeyCloned, .passkeyRefused, .refreshRefused, .signInRefused, .attestationRefused,
      .writeRefused, .callbackRefused, .paymentRefused, .exchangeRefused, .masterKeyRefused,
    ]
    for event in events { #expect(event.isRefusal, "\(event.name)") }
  }
}
