package import Base
import Cryptography
import MariaDB

package enum DevicePlatform: String, Sendable, CaseIterable {
  case ios, android, macos
}

/// A device as `POST /api/mobile/device/register` describes it.
package struct DeviceRegistration: Sendable {
  package let clientDeviceID: String
  package let name: String
  package let platform: DevicePlatform
  package let pushToken: PushToken?
  /// SHA-256 of the credential that the device gets.
  package let credentialHash: [UInt8]
  package let credentialExpiresAt: Timestamp

  package init(
    clientDeviceID: String, name: String, platform: DevicePlatform, pushToken: PushToken?,
    credentialHash: [UInt8], credentialExpiresAt: Timestamp
  ) {
    self.clientDeviceID = clientDeviceID
    self.name = name
    self.platform = platform
    self.pushToken = pushToken
    self.credentialHash = credentialHash
    self.credentialExpiresAt = credentialExpiresAt
  }
}

/// The device of a sign-in, as the request describes it.
package struct SigningDevice: Sendable {
  package let clientDeviceID: String
  package var name: String?
  package var platform: DevicePlatform?
  /// SHA-256 of the request's `X-Device-Credential`, if there is one.
  package let credentialHash: [UInt8]?
  /// The language that the request asks for.
  package let language: Language?
  /// The browser, if its cookie shows an earlier sign-in to an account.
  package let browser: KnownBrowser?

  package init(
    clientDeviceID: String, name: String?, platform: DevicePlatform?, credentialHash: [UInt8]?,
    language: Language? = nil, browser: KnownBrowser? = nil
  ) {
    self.clientDeviceID = clientDeviceID
    self.name = name
    self.platform = platform
    self.credentialHash = credentialHash
    self.language = language
    self.browser = browser
  }

  /// Names the phone in `rate_limits`, which contains no ids of phones.
  var digest: String { hexEncoded(Array(sha256(clientDeviceID).prefix(16))) }
}

/// A browser with an earlier sign-in to an account, as its cookie says.
package struct KnownBrowser: Sendable, Equatable {
  package let accountID: String
  /// Random; not stored.
  package let id: String

  package init(accountID: String, id: String) {
    self.accountID = accountID
    self.id = id
  }
}

/// A device of an account, as `GET /api/mobile/devices` shows it.
package struct Device: Sendable {
  package let clientDeviceID: String
  package let name: String
  package let platform: DevicePlatform
  package let createdAt: Timestamp
  package let lastUsedAt: Timestamp
  package let pushEnabled: Bool
  package let biometricEnabled: Bool
}

extension Device {
  /// The columns client_device_id, name, platform, created_at, last_used_at, push enabled, biometric enabled,
  /// in that order from 0.
  init(row: borrowing Row) {
    clientDeviceID = row.text(0)
    name = row.text(1)
    platform = DevicePlatform(row: row, 2)
    createdAt = row.timestamp(3)
    lastUsedAt = row.timestamp(4)
    pushEnabled = row.boolean(5)
    biometricEnabled = row.boolean(6)
  }
}

/// The credentials of a device, as its row has them: the newest, and the one before while the newest has
/// not been used, because the phone may not have received it.
struct DeviceCredentials {
  let newest: StoredCredential?
  let old: StoredCredential?

  /// - Parameter first: the first of the columns credential_hash, credential_expires_at,
  ///   old_credential_hash, old_credential_expires_at.
  init(row: borrowing Row, from first: Int) {
    newest = StoredCredential(row: row, hash: first, expiresAt: first + 1)
    old = StoredCredential(row: row, hash: first + 2, expiresAt: first + 3)
  }

  enum Shown {
    case newest, old
  }

  /// The credential with this SHA-256; nil if it is none of the device, or has expired.
  func shown(_ hash: [UInt8], at now: Timestamp) -> Shown? {
    if newest?.matches(hash, at: now) == true { return .newest }
    return old?.matches(hash, at: now) == true ? .old : nil
  }
}

/// A credential of a device, as the database knows it.
struct StoredCredential {
  private let hash: [UInt8]
  private let expiresAt: Timestamp

  /// nil if the column of the hash is NULL.
  init?(row: borrowing Row, hash column: Int, expiresAt expiryColumn: Int) {
    guard !row.isNull(column) else { return nil }
    hash = row.bytes(column)
    expiresAt = row.timestamp(expiryColumn)
  }

  func matches(_ presented: [UInt8], at now: Timestamp) -> Bool {
    isEqualInConstantTime(hash, presented) && expiresAt > now
  }
}

/// A registration that waits for a sign-in which shows its credential.
struct PendingRegistration {
  let clientDeviceID: String
  let name: String
  let platform: DevicePlatform
  let pushToken: PushToken?
  let credentialHash: [UInt8]
  let credentialExpiresAt: Timestamp

  /// The columns name, platform, push_token, credential_hash, credential_expires_at, in that order from 0.
  init(row: borrowing Row, clientDeviceID: String) {
    self.clientDeviceID = clientDeviceID
    name = row.text(0)
    platform = DevicePlatform(row: row, 1)
    pushToken = row.optionalText(2).flatMap { PushToken($0) }
    credentialHash = row.bytes(3)
    credentialExpiresAt = row.timestamp(4)
  }
}

extension DevicePlatform {
  init(row: borrowing Row, _ column: Int) {
    self = DevicePlatform(rawValue: row.text(column))!  // the column is an ENUM of these words
  }
}
