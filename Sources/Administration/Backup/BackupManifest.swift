import FoundationEssentials

/// Description of a backup. It is the last part of the file.
package struct BackupManifest: Codable, Sendable {
  struct Part: Codable, Sendable, Equatable {
    let name: String
    /// Size in bytes.
    let size: Int
    /// Hash in hexadecimal digits.
    let sha256: String
  }

  /// Time of the database's state (RFC 3339, UTC).
  package let madeAt: String
  /// Version of the programs.
  package let version: String
  package let host: String
  package let database: String
  package let schemaVersion: Int64
  /// Numbers of rows that a restore affects.
  package let counts: BackupCounts
  /// Prefixes of the sealed values in the database: `box:` and the id of a key in `companion-keys`,
  /// or the id of a key in `credential-keys`.
  let sealedWith: [String]
  /// Paths of the secrets and the configuration, without the first slash.
  package let files: [String]
  /// The other parts of the file, in order.
  var parts: [Part]

  static let name = "manifest.json"

  func encoded() throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    return Array(try encoder.encode(self))
  }
}

extension BackupManifest {
  init(decoding json: [UInt8]) throws {
    do { self = try JSONDecoder().decode(Self.self, from: Data(json)) } catch {
      throw BackupError.damaged("its manifest cannot be read")
    }
  }
}

/// Numbers of rows that a restore affects.
package struct BackupCounts: Codable, Sendable {
  /// Sessions of signed-in phones.
  package let sessions: Int
  /// Phones that may reach the agent.
  package let pairedPhones: Int
  /// Payments that are not confirmed yet.
  package let openPayments: Int
  package let unsentMails: Int
}

package enum BackupError: Error, CustomStringConvertible {
  /// Reason for the refusal and what to do, in whole sentences.
  case refused(String)
  /// The file is not a complete backup, for this reason.
  case damaged(String)

  package var description: String {
    switch self {
    case .refused(let sentences): sentences
    case .damaged(let reason): "The file is not a whole backup: \(reason). Nothing was changed."
    }
  }
}
