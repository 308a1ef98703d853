package import Base
package import Cryptography
package import Store

/// Where an administrator connects banks from a terminal.
package struct BankDesk: Sendable {
  /// All that is wrong with a description.
  package struct Complaints: Error, CustomStringConvertible {
    let sentences: [String]

    package var description: String { sentences.joined(separator: "\n") }
  }

  private let database: Database
  private let keys: Keyring

  /// - Parameter keys: seal the secrets.
  package init(database: Database, keys: Keyring) {
    self.database = database
    self.keys = keys
  }

  /// Adds a bank, or changes how the one of this id is reached.
  ///
  /// - Throws: ``Complaints``, before anything is written.
  package func add(_ bank: BankConnection, secret: String, at now: Timestamp) throws {
    let sentences = bank.complaints + (secret.isSecret ? [] : [secretRule])
    guard sentences.isEmpty else { throw Complaints(sentences: sentences) }
    let sealed = seal(
      Array(secret.utf8),
      authenticating: BankConnection.sealingContext(ofSecret: bank.bsimID), with: keys)
    try database.connect(bank, sealedSecret: sealed, from: .administrator, at: now)
  }

  /// All banks, one on a line.
  package func list() throws -> String {
    let lines = try database.bankOverviews().map { bank in
      [
        bank.bsimID.padded(to: 20), String(bank.enrollments).padded(to: 8),
        bank.name.printable.padded(to: 30), bank.authorizationURL ?? "takes no enrolments",
      ].joined(separator: "  ")
    }
    let head =
      "ID".padded(to: 20) + "  ENROLLED  " + "NAME".padded(to: 30) + "  SENDS PEOPLE TO"
    return ([head] + lines).joined(separator: "\n")
  }

  /// Lets nobody enrol at the bank any more. Cards that were enrolled stay.
  ///
  /// - Returns: false where no such bank is connected.
  package func remove(_ bsimID: String, at now: Timestamp) throws -> Bool {
    try database.disconnect(bank: bsimID, from: .administrator, at: now)
  }
}

private let secretRule =
  "The client secret is read from standard input: one line of 1 to 500 printable characters of ASCII."

extension BankConnection {
  fileprivate var complaints: [String] {
    let texts = [("name", name, 200), ("client-id", clientID, 200), ("scope", scope, 500)]
    let isID =
      1...64 ~= bsimID.utf8.count && ![".", ".."].contains(bsimID)
      && bsimID.utf8.allSatisfy { Character(Unicode.Scalar($0)).isIDLetter }
    let urls =
      [("authorization-url", authorizationURL), ("token-url", tokenURL), ("cards-url", cardsURL)]
      + (logoURL.map { [("logo-url", $0)] } ?? [])
    return (isID ? [] : ["--bsim-id must be 1 to 64 letters, digits, '.', '_' or '-'."])
      + texts.filter { _, text, most in
        text.trimmed.isEmpty || text.unicodeScalars.count > most || text.hasControls
      }.map { name, _, most in "--\(name) must be text of 1 to \(most) characters." }
      + urls.filter { !$1.isURLForSecrets }.map { name, _ in
        "--\(name) must be an https address, or an http address of this machine, without '#' and '@'."
      }
  }
}

extension Character {
  fileprivate var isIDLetter: Bool { isASCII && (isLetter || isNumber) || "._-".contains(self) }
}

extension String {
  fileprivate var isSecret: Bool {
    1...500 ~= utf8.count && utf8.allSatisfy { 0x20...0x7e ~= $0 }
  }

  fileprivate var isURLForSecrets: Bool {
    utf8.count <= 2000 && utf8.allSatisfy { 0x21...0x7e ~= $0 } && !contains("#") && !contains("@")
      && (hasPrefix("https://") || hasPrefix("http://")) && HTTPClient.isConfidential(self)
  }
}
