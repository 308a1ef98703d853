import FoundationEssentials

/// What a backup says of itself. It is the last part of the file.
package struct BackupManifest: Codable, Sendable {
  struct Part: Codable, Sendable, Equatable {
    let name: String
    /// Bytes
    let size: Int
    /// In hexadecimal digits
    let sha256: String
  }

  /// RFC 3339, UTC: the database is as it was then.
  package let madeAt: String
  /// Version of the programs
  package let version: String
  package let host: String
  package let database: String
  package let schemaVersion: Int64
  /// How many there were of what a restore affects.
  package let holdings: BackupHoldings
  /// What the sealed values in the database begin with: `box:` and the id of a key in `companion-keys`, or the id of a
  /// key in `credential-keys`.
  let sealedWith: [String]
  /// Paths of the secrets and the configuration, without the first slash.
  package let files: [String]
  /// The others in the file, in their order.
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

/// How many there are of what a restore affects.
package struct BackupHoldings: Codable, Sendable {
  /// Of phones that are signed in
  package let sessions: Int
  /// That may reach the agent
  package let pairedPhones: Int
  /// Begun and not confirmed
  package let openPayments: Int
  package let unsentMails: Int
}

package enum BackupError: Error, CustomStringConvertible {
  /// What is in the way, and what to do about it: whole sentences.
  case refused(String)
  /// The file is no whole backup, because of this.
  case damaged(String)

  package var description: String {
    switch self {
    case .refused(let sentences): sentences
    case .damaged(let reason): "The file is not a whole backup: \(reason). Nothing was changed."
    }
  }
}
