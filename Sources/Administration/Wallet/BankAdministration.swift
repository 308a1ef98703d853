import Base
package import Delivery
package import Store

/// Banks at which people enroll, for administrators at a terminal.
package struct BankAdministration: Sendable {
  private let records: Records

  package init(records: Records) {
    self.records = records
  }

  /// Adds a bank, or changes the bank with this id.
  ///
  /// - Parameter keys: keys that seal the client secret.
  /// - Throws: ``BadArguments``, before anything is written.
  @discardableResult
  package func add(
    _ bank: BankConnection, secret: String, sealedFor keys: CompanionKeys
  ) throws -> Change {
    let sentences = bank.complaints + (secret.isClientSecret ? [] : [clientSecretRule])
    guard sentences.isEmpty else { throw BadArguments(sentences) }
    let sealed = keys.seal(
      Array(secret.utf8), authenticating: BankConnection.sealingContext(ofSecret: bank.bsimID))
    try records.banks.connect(bank, sealedSecret: sealed)
    return Change(
      isRehearsal: records.isRehearsal, "Connected", or: "connect", "the bank \(bank.bsimID).")
  }

  /// All banks.
  package func list() throws -> Report {
    Report(
      Listing(
        "banks", ["id", "enrolled", "takes_enrollments", "name", "sends_people_to"],
        of: try records.banks.overviews()
      ) { bank in
        [
          .text(bank.bsimID), .number(bank.enrollments), .flag(bank.authorizationURL != nil),
          .text(bank.name), .text(bank.authorizationURL),
        ]
      })
  }

  /// Stops enrollments at the bank. Enrolled cards stay.
  ///
  /// - Returns: nil if no such bank is connected.
  package func disconnect(_ bsimID: String) throws -> Change? {
    guard try records.banks.disconnect(bsimID) else { return nil }
    return Change(
      isRehearsal: records.isRehearsal, "Stopped", or: "stop", "enrollments at the bank \(bsimID).")
  }
}

private let clientSecretRule =
  "The client secret must be one line of 1 to 500 printable ASCII characters on standard input."

extension BankConnection {
  fileprivate var complaints: [String] { idComplaints + textComplaints + urlComplaints }

  private var idComplaints: [String] {
    let isID =
      (1...64).contains(bsimID.utf8.count) && ![".", ".."].contains(bsimID)
      && bsimID.utf8.allSatisfy { $0.isAlphanumeric || "._-".utf8.contains($0) }
    return isID ? [] : ["--bsim-id must be 1 to 64 letters, digits, '.', '_' or '-'."]
  }

  private var textComplaints: [String] {
    [("name", name, 200), ("client-id", clientID, 200), ("scope", scope, 500)]
      .filter { _, text, limit in
        text.trimmed.isEmpty || text.unicodeScalars.count > limit || text.hasControls
      }
      .map { name, _, limit in "--\(name) must be text of 1 to \(limit) characters." }
  }

  private var urlComplaints: [String] {
    let urls =
      [("authorization-url", authorizationURL), ("token-url", tokenURL), ("cards-url", cardsURL)]
      + (logoURL.map { [("logo-url", $0)] } ?? [])
    return urls.filter { !$1.isURLForSecrets }.map { name, _ in .ruleForURL(name) }
  }
}

extension String {
  fileprivate var isClientSecret: Bool {
    (1...500).contains(utf8.count) && utf8.allSatisfy(\.isPrintable)
  }
}
