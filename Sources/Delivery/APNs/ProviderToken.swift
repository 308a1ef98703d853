package import Base
package import Cryptography
import Store

/// Token that identifies the sender to Apple ("Establishing a token-based connection to APNs").
package enum ProviderToken {
  /// Makes a JWT signed with ES256. Apple accepts it for an hour from `issuedAt`, and accepts a new
  /// token at most every 20 minutes per team.
  package static func make(
    keyID: String, teamID: String, issuedAt: Timestamp, key: P256PrivateKey
  ) throws(CryptographyError) -> String {
    let header = JSONWriter.object {
      $0.member("alg", "ES256")
      $0.member("kid", keyID)
    }
    let claims = JSONWriter.object {
      $0.member("iss", teamID)
      $0.member("iat", issuedAt.seconds)
    }
    let input = "\(base64URLEncoded(header)).\(base64URLEncoded(claims))"
    return "\(input).\(base64URLEncoded(try key.signES256(input)))"
  }
  /// Whether `key` signed `token`.
  static func isSigned(_ token: String, by key: P256PublicKey) -> Bool {
    let parts = token.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let signature = base64URLDecoded(String(parts[2])) else { return false }
    return key.isES256(signature, of: Array("\(parts[0]).\(parts[1])".utf8))
  }
}
