package import Cryptography

/// The token of a link in a mail: the subject of the link, and its MAC, so that nothing is stored.
package enum LinkToken {
  package enum Purpose: String, Sendable {
    /// Parts: an account's id.
    case confirmation = "e-mail confirmation"
    /// Parts: a session's id, and the id of the passkey that it added, or nothing.
    case ending = "end of a session"
    /// Parts: the id of an account, and the second of the sign-in: the browsers that had signed in
    /// by then, or soon after, are signed out.
    case browserEnding = "end of all browsers' visits"
    /// Parts: the id of an account, and the millisecond at which its address was proven: what the account had then
    /// is removed.
    case removal = "removal of what opens an account"
    /// Part: SHA-256 of the token of the link to a new address: the request for that address is
    /// withdrawn.
    case withdrawal = "withdrawal of an address"
    /// Parts: the id of an account that has signed in in the browser, a random id, and the second
    /// of its creation. This token is a cookie, not a link.
    case knownBrowser = "known browser"
  }

  package static func make(
    for purpose: Purpose, of parts: [String], with key: Key
  ) -> String {
    (parts + [mac(purpose, parts, key)]).joined(separator: ".")
  }

  /// The parts of the token. The things that they name may be gone.
  ///
  /// - Returns: nil if the token is not one of ours for `purpose`.
  package static func parts(
    of token: String, for purpose: Purpose, signedWith keys: Keyring
  ) -> [String]? {
    // The MAC has a line for each part: a part with a line end would stand for two.
    guard !token.utf8.contains(UInt8(ascii: "\n")) else { return nil }
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
