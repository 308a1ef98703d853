package import Base
package import Cryptography

/// Makes the credentials of devices.
///
/// A credential depends only on a key, the device and a number in its row, so the same one can be made again
/// if the answer was lost, although the database holds only its SHA-256.
package struct CredentialIssuer: Sendable {
  /// The newest key makes new credentials.
  let keys: Keyring

  package init(keys: Keyring) {
    self.keys = keys
  }

  /// Lifetime of a credential.
  package static let lifetime = Duration.seconds(90 * 86_400)

  /// Scanners for published secrets recognize a credential by this prefix.
  package static let prefix = "sbdc_"

  func credential(_ number: Int64, of deviceID: String, on clientDeviceID: String) -> String {
    credential(number, of: deviceID, on: clientDeviceID, with: keys.newest)
  }

  /// The credential with this SHA-256, if a key made it of the number.
  func credential(
    _ number: Int64, of deviceID: String, on clientDeviceID: String, hashed hash: [UInt8]
  ) -> String? {
    keys.keys.lazy
      .map { credential(number, of: deviceID, on: clientDeviceID, with: $0) }
      .first { isEqualInConstantTime(sha256($0), hash) }
  }

  private func credential(
    _ number: Int64, of deviceID: String, on clientDeviceID: String, with key: Key
  ) -> String {
    Self.prefix
      + sealRepeatably(
        hmacSHA256("device credential\n\(deviceID)\n\(number)", with: key),
        authenticating: clientDeviceID, with: key)
  }
}

/// The credential that a registration gets.
package enum RegisteredCredential: Sendable {
  /// The new one of the ``DeviceRegistration``.
  case new
  /// That of a device that is signed in.
  case ofDevice(String, expiresAt: Timestamp)
  /// The one that was shown stays.
  case shown(expiresAt: Timestamp)
}
