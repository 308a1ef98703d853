import Base
import Cryptography
import MariaDB
import Support
import Testing

@testable import Store

/// Stored passkeys in sign-ins and payments.
@Suite struct PasskeyTests {
  private static let id = Array(repeating: UInt8(ascii: "i"), count: 16)

  private func withPasskey(_ body: (TestStore, Records) throws -> Void) throws {
    try withStore { store throws in
      store.sql(SampleRows.statements)
      let origin = Origin(requestID: "request-1", address: "192.0.2.1")
      try body(
        store,
        store.database("responder").records(at: Timestamp(seconds: 1_795_000_000), from: origin))
    }
  }

  private func find(
    _ id: [UInt8] = id, of account: String = SampleRows.account, in records: Records
  ) throws -> StoredPasskey? {
    try records.read { try $0.passkeys.find(credentialID: id, of: account) }
  }

  /// - Parameter meanwhile: runs after the transaction's first read.
  private func record(
    _ count: UInt32, isBackedUp: Bool = true, in records: Records, meanwhile: () -> Void = {}
  ) throws -> PasskeyUseOutcome {
    let passkey = StoredPasskey(
      id: SampleRows.passkey, accountID: SampleRows.account,
      passkey: Passkey(
        credentialID: Self.id, publicKey: [], signCount: 0, isBackupEligible: true,
        isBackedUp: true))
    return try records.transaction { transaction in
      _ = try transaction.passkeys.find(credentialID: Self.id, of: SampleRows.account)
      meanwhile()
      return try transaction.passkeys.record(
        PasskeyUse(signCount: count, isBackedUp: isBackedUp), of: passkey)
    }
  }

  @Test func passkeysAreFoundForTheirAccountOnly() throws {
    try withPasskey { _, records throws in
      let found = try #require(try find(in: records))
      #expect(found.id == SampleRows.passkey)
      #expect(found.accountID == SampleRows.account)
      #expect(
        found.passkey
          == Passkey(
            credentialID: Self.id, publicKey: Array(repeating: UInt8(ascii: "p"), count: 77),
            signCount: 1, isBackupEligible: true, isBackedUp: true))
      #expect(try find(of: SampleRows.other, in: records) == nil)
      #expect(try find(Self.id + [0], in: records) == nil)
      #expect(try find(Array("I".utf8) + Self.id.dropFirst(), in: records) == nil)
      let ids = try records.read { try $0.passkeys.credentialIDs(of: SampleRows.account) }
      #expect(ids == [Self.id])
    }
  }

  @Test(
    arguments: [
      (0, 0, true), (0, 1, true), (0, .max, true), (1, 0, false), (1, 1, false), (1, 2, true),
      (.max, 0, false), (.max, .max, false), (.max - 1, .max, true),
    ] as [(UInt32, UInt32, Bool)])
  func usesAreRecordedIfTheCountRisesOrStaysZero(
    _ stored: UInt32, _ new: UInt32, _ isRecorded: Bool
  ) throws {
    try withPasskey { store, records throws in
      store.sql("UPDATE passkeys SET sign_count = \(stored)")
      #expect(try record(new, in: records) == (isRecorded ? .recorded : .cloned))
      #expect(
        store.sql("SELECT sign_count, uses, last_used_at IS NULL FROM passkeys")
          == (isRecorded ? "\(new)\t1\t0" : "\(stored)\t0\t1"))
    }
  }

  /// A second use works even at the same instant, when nothing else in the row changes.
  @Test func authenticatorsThatDoNotCountMayBeUsedAgain() throws {
    try withPasskey { store, records throws in
      store.sql("UPDATE passkeys SET sign_count = 0")
      for _ in 1...3 { #expect(try record(0, in: records) == .recorded) }
      #expect(try record(0, isBackedUp: false, in: records) == .recorded)
      #expect(store.sql("SELECT uses, is_backed_up FROM passkeys") == "4\t0")
    }
  }

  @Test func removedPasskeysAreNotReportedAsClones() throws {
    try withPasskey { store, records throws in
      #expect(try record(5, in: records) { store.sql("DELETE FROM passkeys") } == .gone)
    }
  }

  @Test func simultaneousUsesRecordEachCountOnce() throws {
    try withPasskey { store, records throws in
      let recorded = try inParallel(32) { number in
        try record(UInt32(2 + number % 4), in: records) == .recorded ? 1 : 0
      }
      let uses = recorded.reduce(0, +)
      #expect((1...4).contains(uses))
      #expect(store.sql("SELECT sign_count, uses FROM passkeys") == "5\t\(uses)")
    }
  }

  @Test func userHandlesAreTheAccountsID() {
    #expect(
      userHandle(ofAccount: SampleRows.account)
        == hexDecoded("01890a5dac96774bbcceb302099a8001"))
  }
}
