import COpenSSL

/// Returns the object that `read` finds in a PEM text.
///
/// - Throws: ``CryptographyError/malformed`` if it finds nothing.
func parse(
  _ pem: Span<UInt8>, _ read: (OpaquePointer?) -> OpaquePointer?
) throws(CryptographyError) -> OpaquePointer {
  let found = pem.withUnsafeBufferPointer { text in
    let source = BIO_new_mem_buf(text.baseAddress, Int32(clamping: text.count))
    defer { BIO_free(source) }
    return source == nil ? nil : read(source)
  }
  ERR_clear_error()
  guard let found else { throw .malformed }
  return found
}

/// The callback for the password of an encrypted key. Without it, libcrypto would ask the terminal;
/// with it, reading an encrypted key fails.
func refusePassword(
  _ password: UnsafeMutablePointer<CChar>?, _ size: CInt, _ isWriting: CInt,
  _ context: UnsafeMutableRawPointer?
) -> CInt { -1 }
