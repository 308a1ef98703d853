import Base
package import Store

/// The banks at which people enroll, as administrators manage them from a terminal.
package struct BankDirectory: Sendable {
  /// Everything that is wrong with a bank's description.
  package struct Complaints: Error, CustomStringConvertible {
    let sentences: [String]

    package var description: String { sentences.joined(separator: "\n") }
  }

  private let banks: Banks
  private let keys: CompanionKeys

  /// - Parameter keys: seal the client secrets.
  package init(records: Records, keys: CompanionKeys) {
    banks = records.banks
    self.keys = keys
  }

  /// Adds a bank, or changes the bank with this id.
  ///
  /// - Throws: ``Complaints``, before anything is written.
  package func add(_ bank: BankConnection, secret: String) throws {
    let sentences = bank.complaints + (secret.isClientSecret ? [] : [clientSecretRule])
    guard sentences.isEmpty else { throw Complaints(sentences: sentences) }
    let sealed = keys.seal(
      Array(secret.utf8), authenticating: BankConnection.sealingContext(ofSecret: bank.bsimID))
    try banks.connect(bank, sealedSecret: sealed)
  }

  /// All banks, one per line.
  package func list() throws -> String {
    let lines = try banks.overviews().map { bank in
      [
        bank.bsimID.padded(to: 20), String(bank.enrollments).padded(to: 8),
        bank.name.printable.padded(to: 30), bank.authorizationURL ?? "takes no enrollments",
      ].joined(separator: "  ")
    }
    let head =
      "ID".padded(to: 20) + "  ENROLLED  " + "NAME".padded(to: 30) + "  SENDS PEOPLE TO"
    return ([head] + lines).joined(separator: "\n")
  }

  /// Stops enrollments at the bank. Cards that were enrolled stay.
  ///
  /// - Returns: false if no such bank is connected.
  package func disconnect(_ bsimID: String) throws -> Bool { try banks.disconnect(bsimID) }
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
    return urls.filter { !$1.isURLForSecrets }.map { name, _ in
      "--\(name) must be an https URL, or an http URL of this machine, without '#' and '@'."
    }
  }
}

extension String {
  fileprivate var isClientSecret: Bool {
    (1...500).contains(utf8.count) && utf8.allSatisfy(\.isPrintable)
  }

  /// Whether only the URL's host reads what is sent there: it is https, or on this machine.
  fileprivate var isURLForSecrets: Bool {
    guard isVisibleASCII(atMost: 2000), !contains("#"), !contains("@"), let url = WebURL(self)
    else { return false }
    // The database takes the scheme in lower case only.
    return hasPrefix(url.scheme) && (url.isHTTPS || url.isHTTP && url.isOfThisMachine)
  }
}
