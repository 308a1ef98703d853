import COpenSSL

/// The reason why a cryptographic operation failed. It never carries a value.
package enum CryptographyError: Error, Equatable {
  /// The input does not have the form that its standard or this module prescribes.
  case malformed

  /// The signature or authentication tag does not belong to these bytes.
  case unauthentic

  /// No key of the keyring has the key id that the text names.
  case unknownKey

  /// A key is unusable: a bad or repeated id, a short secret, another curve or algorithm, or no
  /// key.
  case invalidKey

  /// libcrypto failed with a code of `ERR_get_error(3)`.
  case library(code: UInt)

  /// The latest failure of libcrypto on this thread. Empties the thread's error queue.
  static func takingLibraryFailure() -> Self {
    let code = ERR_peek_last_error()
    ERR_clear_error()
    return .library(code: code)
  }
}
