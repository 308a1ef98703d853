import COpenSSL

/// Why a cryptographic operation refused; it never carries a value.
package enum CryptographyError: Error, Equatable {
  /// The text does not have the form its standard or this module prescribes.
  case malformed

  /// The signature or authentication tag does not belong to these bytes.
  case unauthentic

  /// No key of the keyring has the key id that the text names.
  case unknownKey

  /// A key has a bad or repeated id or a short secret, or there is no key at all.
  case invalidKey

  /// libcrypto failed; `code` is that of `ERR_get_error(3)`.
  case library(code: UInt)

  /// The latest failure of libcrypto on this thread; empties the thread's error queue.
  static func takingLibraryFailure() -> Self {
    let code = ERR_peek_last_error()
    ERR_clear_error()
    return .library(code: code)
  }
}
