package import Base

/// The identity of an application server for push services (RFC 8292).
package struct VAPID: Sendable {
  private let key: P256PrivateKey
  /// The public half in its uncompressed form, in base64url: the `applicationServerKey` of a page.
  package let publicKey: String
  /// The contact address for push services: a `mailto:` or `https:` address.
  private let subject: String

  package init(key: P256PrivateKey, subject: String) throws(CryptographyError) {
    self.key = key
    self.subject = subject
    publicKey = base64URLEncoded(try key.publicKey().uncompressedPoint)
  }

  /// The value of the field `Authorization` for push services of `origin` (RFC 8292 §3).
  ///
  /// - Parameter expiresAt: at most 24 hours from now.
  package func authorization(
    for origin: String, expiresAt: Timestamp
  ) throws(CryptographyError) -> String {
    let header = #"{"typ":"JWT","alg":"ES256"}"#
    let claims = JSONWriter.object {
      $0.member("aud", origin)
      $0.member("exp", expiresAt.seconds)
      $0.member("sub", subject)
    }
    let input = "\(base64URLEncoded(Array(header.utf8))).\(base64URLEncoded(claims))"
    let signature = base64URLEncoded(try key.signES256(input))
    return "vapid t=\(input).\(signature), k=\(publicKey)"
  }
}
