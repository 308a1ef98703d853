import COpenSSL

/// An X.509 certificate (RFC 5280).
///
/// The corresponding C type is `X509`.
// @unchecked: libcrypto only reads a certificate, and locks what it caches in it.
package final class Certificate: @unchecked Sendable {
  private let handle: OpaquePointer

  /// The certificate whose DER form is `bytes`.
  ///
  /// The corresponding C function is `d2i_X509`.
  ///
  /// - Throws: ``CryptographyError/malformed``, also if libcrypto would write other bytes: a
  ///   certificate has only one form.
  package init(der bytes: ArraySlice<UInt8>) throws(CryptographyError) {
    let handle = bytes.withUnsafeBufferPointer { buffer in
      var position = buffer.baseAddress
      return d2i_X509(nil, &position, buffer.count)
    }
    ERR_clear_error()
    guard let handle else { throw .malformed }
    self.handle = handle
    guard der.elementsEqual(bytes) else { throw .malformed }
  }

  /// The first certificate of a PEM text.
  ///
  /// The corresponding C function is `PEM_read_bio_X509`.
  ///
  /// - Throws: ``CryptographyError/malformed`` if the text has none.
  package init(pem: String) throws(CryptographyError) {
    handle = try parse(pem.utf8.span) { PEM_read_bio_X509($0, nil, refusePassword, nil) }
  }

  deinit { X509_free(handle) }

  /// The certificate in DER.
  ///
  /// The corresponding C function is `i2d_X509`.
  package var der: [UInt8] {
    var bytes: UnsafeMutablePointer<UInt8>?
    let size = i2d_X509(handle, &bytes)
    ERR_clear_error()
    guard size > 0 else { return [] }
    defer { CRYPTO_free(bytes, #fileID, 0) }
    return Array(UnsafeBufferPointer(start: bytes, count: Int(size)))
  }

  /// Whether the certificate says that it may issue others (RFC 5280 §4.2.1.9, §4.2.1.3).
  ///
  /// The corresponding C function is `X509_check_ca`.
  package var isAuthority: Bool {
    defer { ERR_clear_error() }
    return X509_check_ca(handle) == 1
  }

  /// The key that it certifies; nil if that is not of the curve P-256.
  ///
  /// The corresponding C function is `X509_get_pubkey`.
  package var publicKey: P256PublicKey? {
    let key = X509_get_pubkey(handle)
    ERR_clear_error()
    return key.flatMap { try? P256PublicKey(owning: $0) }  // the only error is another curve
  }

  /// The value of the extension with the dotted `identifier`; nil unless there is exactly one.
  ///
  /// The corresponding C functions are `X509_get_ext_by_OBJ` and `X509_EXTENSION_get_data`.
  package func extensionValue(_ identifier: String) -> [UInt8]? {
    let object = OBJ_txt2obj(identifier, 1)
    defer { ASN1_OBJECT_free(object) }
    let index = X509_get_ext_by_OBJ(handle, object, -1)
    guard index >= 0, X509_get_ext_by_OBJ(handle, object, index) < 0 else { return nil }
    let value = X509_EXTENSION_get_data(X509_get_ext(handle, index))
    return Array(
      UnsafeBufferPointer(
        start: ASN1_STRING_get0_data(value), count: Int(ASN1_STRING_length(value))))
  }

  package enum Trust: Sendable {
    case trusted
    /// One of the three certificates is not yet valid, or has expired.
    case outsideValidity
    case untrusted
  }

  /// Whether `root` issued `intermediate`, `intermediate` issued this certificate, and all are
  /// valid at the time. Revocation is not checked.
  ///
  /// The corresponding C function is `X509_verify_cert`.
  ///
  /// - Parameter milliseconds: Unix time.
  package func trust(
    through intermediate: Certificate, to root: Certificate, at milliseconds: Int64
  ) -> Trust {
    let store = X509_STORE_new()
    let context = X509_STORE_CTX_new()
    let others = OPENSSL_sk_new_null()
    defer {
      X509_STORE_CTX_free(context)
      OPENSSL_sk_free(others)
      X509_STORE_free(store)
      ERR_clear_error()
    }
    let isReady =
      X509_STORE_add_cert(store, root.handle) == 1
      && OPENSSL_sk_push(others, UnsafeRawPointer(intermediate.handle)) == 1
      && X509_STORE_CTX_init(context, store, handle, others) == 1
    precondition(isReady, "libcrypto cannot verify certificates")
    X509_VERIFY_PARAM_set_time(X509_STORE_CTX_get0_param(context), Int(milliseconds / 1000))

    guard X509_verify_cert(context) == 1 else {
      switch X509_STORE_CTX_get_error(context) {
      case X509_V_ERR_CERT_NOT_YET_VALID, X509_V_ERR_CERT_HAS_EXPIRED: return .outsideValidity
      default: return .untrusted
      }
    }
    // Three certificates: the intermediate is part of the chain.
    return OPENSSL_sk_num(X509_STORE_CTX_get0_chain(context)) == 3 ? .trusted : .untrusted
  }
}
