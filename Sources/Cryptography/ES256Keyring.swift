import Base

/// Keys of JSON Web Tokens with an ES256 signature (RFC 7515, RFC 7518 §3.4), newest first: the newest
/// signs, all of them verify. Programs elsewhere verify with ``jwks``.
///
/// A key has exactly one header: `{"alg":"ES256","kid":"…","typ":"JWT"}`. Headers are compared, not
/// parsed, as those of ``JSONWebToken``.
package struct ES256Keyring: Sendable {
  /// At least one key, newest first; no two have the same id.
  private let keys: [ES256Key]

  /// The public halves as a JWK Set (RFC 7517 §5), newest first.
  package let jwks: [UInt8]

  /// Reads `kid:base64url` entries of 32 bytes, newest first, separated by commas or newlines. The bytes
  /// are a private scalar of P-256.
  ///
  /// - Throws: ``CryptographyError/malformed`` if an entry has another form;
  ///   ``CryptographyError/invalidKey`` if an id or a scalar is not usable, if an id occurs twice, or if
  ///   there is no entry.
  package init(parsing text: String) throws(CryptographyError) {
    let keys = try parseKeys(text, id: \.id) { (id, bytes) throws(CryptographyError) in
      try ES256Key(id: id, scalar: bytes)
    }
    self.keys = keys
    jwks = JSONWriter.object { set in
      set.member("keys", json: JSONWriter.array { for key in keys { $0.object(key.writeJWK) } })
    }
  }

  /// The token with `payload`, a JSON object of claims, signed with the newest key.
  ///
  /// A payload over about 2,900 bytes makes a token that is too long for ``verify(_:)``.
  package func sign(_ payload: [UInt8]) -> String {
    let key = keys[0]
    let input = String(decoding: key.tokenHeader, as: UTF8.self) + base64URLEncoded(payload)
    guard let signature = try? key.privateKey.signES256(input) else {
      preconditionFailure("libcrypto cannot sign")
    }
    return "\(input).\(base64URLEncoded(signature))"
  }

  /// The payload of `token`, if one of the keys signed it. The caller must check its claims.
  ///
  /// A signature is not unique, see ``P256PublicKey/isECDSA(_:of:)``.
  ///
  /// - Throws: like ``JSONWebToken/verify(_:with:)``.
  package func verify(_ token: String) throws(CryptographyError) -> [UInt8] {
    try JSONWebToken.verify(
      token, by: keys, header: \.tokenHeader, signatureSize: 2 * P256.coordinateSize
    ) { signature, input, key in
      key.publicKey.isES256(signature, of: input)
    }
  }
}

/// A named private key with its public half.
private struct ES256Key: Sendable {
  let id: String
  let privateKey: P256PrivateKey
  let publicKey: P256PublicKey
  /// The header segment of the tokens that the key signs, with the dot that ends it.
  let tokenHeader: [UInt8]

  /// - Throws: ``CryptographyError/invalidKey`` if `id` has another form, or `scalar` is not a private
  ///   scalar of P-256.
  init(id: String, scalar: Span<UInt8>) throws(CryptographyError) {
    guard isKeyID(id) else { throw .invalidKey }
    self.id = id
    privateKey = try P256PrivateKey(scalar: scalar)
    publicKey = try privateKey.publicKey()
    tokenHeader = JSONWebToken.header(algorithm: "ES256", keyID: id)
  }

  /// Writes the members of the public half as a JWK (RFC 7517 §4, RFC 7518 §6.2.1).
  func writeJWK(to json: inout JSONWriter) {
    let point = publicKey.uncompressedPoint.dropFirst()
    json.member("kty", "EC")
    json.member("use", "sig")
    json.member("alg", "ES256")
    json.member("kid", id)
    json.member("crv", "P-256")
    json.member("x", base64URLEncoded(Array(point.prefix(P256.coordinateSize))))
    json.member("y", base64URLEncoded(Array(point.suffix(P256.coordinateSize))))
  }
}
