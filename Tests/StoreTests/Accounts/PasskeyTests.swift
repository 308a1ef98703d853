import Base
import Cryptography
import MariaDB
import Testing

@testable import Store

/// What sign-ins and payments ask of a stored passkey.
@Suite struct PasskeyTests {
  private static let id = Array(repeating: UInt8(ascii: "i"), count: 16)

  private func withPasskey(_ body: (TestStore, Database) throws -> Void) throws {
    try withStore { store throws in
      store.sql(SampleRows.statements)
      try body(store, store.database("responder"))
    }
  }

  private func find(
    _ database: Database, _ id: [UInt8] = id, of account: String = SampleRows.account
  ) throws -> StoredPasskey? {
    try database.pool.read { try $0.passkey(withCredentialID: id, of: account) }
  }

  /// - Parameter meanwhile: what others do after the transaction has first read.
  private func record(
    _ database: Database, _ count: UInt32, isBackedUp: Bool = true, meanwhile: () -> Void = {}
  ) throws -> WebAuthnError? {
    let passkey = StoredPasskey(
      id: SampleRows.passkey, accountID: SampleRows.account,
      passkey: Passkey(
        credentialID: Self.id, publicKey: [], signCount: 0, isBackupEligible: true,
        isBackedUp: true))
    return try database.pool.transaction { connection in
      _ = try connection.passkey(withCredentialID: Self.id, of: SampleRows.account)
      meanwhile()
      return try connection.record(
        PasskeyUse(signCount: count, isBackedUp: isBackedUp), of: passkey,
        at: Timestamp(seconds: 1_795_000_000))
    }
  }

  @Test func aPasskeyIsFoundForItsAccountOnly() throws {
    try withPasskey { _, database throws in
      let found = try #require(try find(database))
      #expect(found.id == SampleRows.passkey)
      #expect(found.accountID == SampleRows.account)
      #expect(
        found.passkey
          == Passkey(
            credentialID: Self.id, publicKey: Array(repeating: UInt8(ascii: "p"), count: 77),
            signCount: 1, isBackupEligible: true, isBackedUp: true))
      #expect(try find(database, of: SampleRows.other) == nil)
      #expect(try find(database, Self.id + [0]) == nil)
      #expect(try find(database, Array("I".utf8) + Self.id.dropFirst()) == nil)
      #expect(try database.pool.read { try $0.credentialIDs(of: SampleRows.account) } == [Self.id])
    }
  }

  @Test(
    arguments: [
      (0, 0, true), (0, 1, true), (0, .max, true), (1, 0, false), (1, 1, false), (1, 2, true),
      (.max, 0, false), (.max, .max, false), (.max - 1, .max, true),
    ] as [(UInt32, UInt32, Bool)])
  func aUseIsRecordedWhereTheCountRisesOrStaysZero(
    _ stored: UInt32, _ new: UInt32, _ isRecorded: Bool
  ) throws {
    try withPasskey { store, database throws in
      store.sql("UPDATE passkeys SET sign_count = \(stored)")
      #expect(try record(database, new) == (isRecorded ? nil : .signCount))
      #expect(
        store.sql("SELECT sign_count, uses, last_used_at IS NULL FROM passkeys")
          == (isRecorded ? "\(new)\t1\t0" : "\(stored)\t0\t1"))
    }
  }

  /// At the same moment too, when nothing else of the row changes.
  @Test func anAuthenticatorThatDoesNotCountMayBeUsedAgain() throws {
    try withPasskey { store, database throws in
      store.sql("UPDATE passkeys SET sign_count = 0")
      for _ in 1...3 { #expect(try record(database, 0) == nil) }
      #expect(try record(database, 0, isBackedUp: false) == nil)
      #expect(store.sql("SELECT uses, is_backed_up FROM passkeys") == "4\t0")
    }
  }

  @Test func aPasskeyThatIsGoneIsNoClone() throws {
    try withPasskey { store, database throws in
      #expect(try record(database, 5) { store.sql("DELETE FROM passkeys") } == .credential)
    }
  }

  @Test func ofUsesAtOnceEachCountIsRecordedOnce() throws {
    try withPasskey { store, database throws in
      let recorded = try inParallel(32) { try record(database, UInt32(2 + $0 % 4)) == nil ? 1 : 0 }
      let uses = recorded.reduce(0, +)
      #expect((1...4).contains(uses))
      #expect(store.sql("SELECT sign_count, uses FROM passkeys") == "5\t\(uses)")
    }
  }

  @Test func aUserHandleIsTheAccountsId() {
    #expect(
      userHandle(ofAccount: SampleRows.account)
        == hexDecoded("01890a5dac96774bbcceb302099a8001"))
  }
}
