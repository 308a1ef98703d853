import Base
import MariaDB

/// A device with its credentials.
struct CredentialedDevice {
  struct Credential {
    let hash: [UInt8]
    let expiresAt: Timestamp
    let trustedAt: Timestamp?
  }

  let id: String
  let accountID: String
  let credentials: DeviceCredentials
  let newest: Credential?
  /// The one before; nil once the newest has been used.
  let old: Credential?
  /// Counts the credentials that were made for the device.
  let number: Int64
  /// When the newest was made; nil if it was a registration's.
  let madeAt: Timestamp?
  /// The network that asked for the newest.
  let network: String

  /// The columns id, account_id, credential_hash, credential_expires_at, old_credential_hash,
  /// old_credential_expires_at, credential_trusted_at, old_credential_trusted_at, credential_number,
  /// credential_made_at, credential_made_for, in that order from 0.
  init(row: borrowing Row) {
    id = row.text(0)
    accountID = row.text(1)
    credentials = DeviceCredentials(row: row, from: 2)
    newest = Credential(row: row, hash: 2, trustedAt: 6)
    old = Credential(row: row, hash: 4, trustedAt: 7)
    number = row.integer(8)
    madeAt = row.optionalTimestamp(9)
    network = row.text(10)
  }

  func credential(_ shown: DeviceCredentials.Shown) -> Credential? {
    switch shown {
    case .newest: newest
    case .old: old
    }
  }

  /// Whether it has a trusted credential that has not expired.
  func isTrusted(at now: Timestamp) -> Bool {
    [newest, old].contains { $0.map { $0.trustedAt != nil && $0.expiresAt > now } ?? false }
  }
}

extension CredentialedDevice.Credential {
  /// The column of the expiry follows that of the hash.
  fileprivate init?(row: borrowing Row, hash column: Int, trustedAt trustColumn: Int) {
    guard !row.isNull(column) else { return nil }
    hash = row.bytes(column)
    expiresAt = row.timestamp(column + 1)
    trustedAt = row.optionalTimestamp(trustColumn)
  }
}
