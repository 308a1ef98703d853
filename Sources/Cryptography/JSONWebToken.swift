/// JSON Web Tokens with an HMAC-SHA256 signature (RFC 7515, RFC 7519, `HS256` of RFC 7518 §3.2).
///
/// A key has exactly one header: `{"alg":"HS256","kid":"…","typ":"JWT"}`. Headers are compared, not
/// parsed, so that no algorithm, key or address in a header can have an effect (RFC 8725 §3.1).
package enum JSONWebToken {
  /// The largest size of a token in bytes. Longer tokens are rejected unread.
  package static let maximumSize = 4096

  private static let dot = UInt8(ascii: ".")

  /// The token with `payload`, a JSON object of claims, signed with `key`.
  ///
  /// A payload over about 2,900 bytes makes a token that is too long for ``verify(_:with:)``.
  package static func sign(_ payload: [UInt8], with key: Key) -> String {
    var token = String(decoding: key.tokenHeader, as: UTF8.self)
    token += base64URLEncoded(payload)
    let signature = hmacSHA256(token, with: key)
    token += "."
    token += base64URLEncoded(signature)
    return token
  }

  /// The payload of `token`, if a key of `keyring` signed it. The caller must check its claims.
  ///
  /// - Throws: ``CryptographyError/malformed`` if it is over ``maximumSize`` or has no signature of
  ///   the right size; ``CryptographyError/unknownKey`` if its header is not that of one of the
  ///   keys; ``CryptographyError/unauthentic`` if the signature is wrong.
  package static func verify(
    _ token: String, with keyring: Keyring
  ) throws(CryptographyError) -> [UInt8] {
    try verify(
      token, by: keyring.keys, header: \.tokenHeader, signatureSize: digestSize
    ) { signature, input, key in
      isEqualInConstantTime(signature, hmacSHA256(input, with: key))
    }
  }

  /// The payload of `token`, if it begins with the header of one of the keys and `isSignature` accepts the
  /// signature of the text before it.
  ///
  /// - Parameter signatureSize: the size of a signature in bytes.
  static func verify<Signer>(
    _ token: String, by keys: [Signer], header: (Signer) -> [UInt8], signatureSize: Int,
    _ isSignature: (_ signature: [UInt8], _ input: Span<UInt8>, _ key: Signer) -> Bool
  ) throws(CryptographyError) -> [UInt8] {
    let bytes = token.utf8.span
    guard bytes.count <= maximumSize else { throw .malformed }
    guard let key = keys.first(where: { starts(bytes, with: header($0)) }) else {
      throw .unknownKey
    }
    let start = header(key).count
    let end = bytes.count - (signatureSize * 8 + 5) / 6 - 1
    guard end >= start, bytes[end] == dot,
      let signature = base64URLDecoded(bytes.extracting((end + 1)...))
    else { throw .malformed }
    guard isSignature(signature, bytes.extracting(..<end), key) else { throw .unauthentic }
    guard let payload = base64URLDecoded(bytes.extracting(start..<end)) else { throw .malformed }
    return payload
  }

  /// The header segment of a token, with the dot that ends it.
  static func header(algorithm: String, keyID: String) -> [UInt8] {
    let header = #"{"alg":"\#(algorithm)","kid":"\#(keyID)","typ":"JWT"}"#
    return Array((base64URLEncoded(Array(header.utf8)) + ".").utf8)
  }

  private static func starts(_ bytes: Span<UInt8>, with header: [UInt8]) -> Bool {
    guard bytes.count >= header.count else { return false }
    for index in header.indices where bytes[index] != header[index] { return false }
    return true
  }
}
