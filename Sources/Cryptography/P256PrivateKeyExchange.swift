import COpenSSL

extension P256PrivateKey {
  /// A new key.
  ///
  /// The corresponding C function is `EVP_PKEY_generate`.
  package static func generate() throws(CryptographyError) -> P256PrivateKey {
    let context = EVP_PKEY_CTX_new_from_name(nil, "EC", nil)
    defer { EVP_PKEY_CTX_free(context) }
    var key: OpaquePointer?
    guard EVP_PKEY_keygen_init(context) == 1,
      EVP_PKEY_CTX_set_group_name(context, SN_X9_62_prime256v1) == 1,
      EVP_PKEY_generate(context, &key) == 1, let key
    else { throw .takingLibraryFailure() }
    return P256PrivateKey(owning: key)
  }

  /// The x coordinate of the shared point (ECDH, SEC 1 §3.3.1), 32 bytes.
  ///
  /// The corresponding C function is `EVP_PKEY_derive`.
  package func sharedSecret(with peer: P256PublicKey) throws(CryptographyError) -> Secret {
    let context = EVP_PKEY_CTX_new_from_pkey(nil, handle, nil)
    defer { EVP_PKEY_CTX_free(context) }
    var secret = [UInt8](repeating: 0, count: P256.coordinateSize)
    defer { wipe(&secret) }
    var size = secret.count
    guard EVP_PKEY_derive_init(context) == 1,
      EVP_PKEY_derive_set_peer(context, peer.key.handle) == 1,
      EVP_PKEY_derive(context, &secret, &size) == 1, size == secret.count
    else { throw .takingLibraryFailure() }
    return Secret(copying: secret.span)
  }

  /// The key as a PEM text with an unencrypted `PRIVATE KEY` (PKCS#8, RFC 5958), for a file that its owner alone reads.
  ///
  /// The corresponding C function is `PEM_write_bio_PKCS8PrivateKey`.
  package func pem() throws(CryptographyError) -> [UInt8] {
    let target = BIO_new(BIO_s_secmem())
    defer { BIO_free(target) }
    var bytes = [UInt8](repeating: 0, count: 1024)
    guard PEM_write_bio_PKCS8PrivateKey(target, handle, nil, nil, 0, nil, nil) == 1
    else { throw .takingLibraryFailure() }
    let size = BIO_read(target, &bytes, Int32(bytes.count))
    guard size > 0, size < bytes.count else { throw .takingLibraryFailure() }
    defer { wipe(&bytes) }
    return Array(bytes[..<Int(size)])
  }
}
