package import Cryptography

/// The token of a link in a mail: what the link is about, and a MAC of it, so that nothing is kept.
package enum LinkToken {
  package enum Purpose: String, Sendable {
    /// Of an account's id.
    case confirmation = "e-mail confirmation"
    /// Of a session's id, and of the id of the passkey that it added or nothing.
    case ending = "end of a session"
    /// Of the id of an account, all of whose browsers are signed out.
    case browserEnding = "end of all browsers' visits"
    /// Of the id of an account that has signed in in the browser, a random id, and the second when it was made. It
    /// is a cookie, no link.
    case knownBrowser = "known browser"
  }

  package static func make(
    for purpose: Purpose, of parts: [String], with key: Key
  ) -> String {
    (parts + [mac(purpose, parts, key)]).joined(separator: ".")
  }

  /// What the token is about; it may have gone since.
  ///
  /// - Returns: nil where the token is not one of ours for `purpose`.
  package static func parts(
    of token: String, for purpose: Purpose, signedWith keys: Keyring
  ) -> [String]? {
    var parts = token.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    let given = Array(parts.removeLast().utf8)
    let isOurs = keys.keys.contains {
      isEqualInConstantTime(Array(mac(purpose, parts, $0).utf8), given)
    }
    return isOurs ? parts : nil
  }

  private static func mac(_ purpose: Purpose, _ parts: [String], _ key: Key) -> String {
    base64URLEncoded(
      hmacSHA256(([purpose.rawValue] + parts).joined(separator: "\n"), with: key))
  }
}
