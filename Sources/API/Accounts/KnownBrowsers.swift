import Base
import Cryptography
import HTTP
import Store

/// Cookies that prove an earlier sign-in to an account in this browser. Such a browser has its own limits for mailed
/// codes, so that an attacker cannot lock its owner out. The cookie does not sign anyone in.
extension Context {
  /// The lifetime of the cookie, equal to the time for which its signing keys are kept.
  private static let lifetime = Duration.seconds(30 * 86_400)

  private var knownBrowserCookie: BrowserCookie {
    BrowserCookie(
      "known", at: settings.publicURL, lifetime: Self.lifetime, sameSite: "Strict")
  }

  /// The browser of a request; nil if its cookie is missing, too old or not ours.
  func knownBrowser(of request: Request) -> KnownBrowser? {
    guard let token = knownBrowserCookie.sentValue(in: request),
      let parts = LinkToken.parts(of: token, for: .knownBrowser, signedWith: settings.hmacKeys),
      parts.count == 3, let madeAt = Int64(parts[2]),
      madeAt > (now - Self.lifetime).seconds
    else { return nil }
    return KnownBrowser(accountID: parts[0], id: parts[1])
  }

  /// Handles a sign-in form, and sets the cookie of a known browser.
  ///
  /// - Parameter act: Returns the id of the account, and the cookie of the visit.
  func signIn(
    _ request: Request, _ act: () throws -> (account: String, cookie: String)
  ) throws -> Response {
    var account: String?
    var response = try fulfill(request) {
      let signedIn = try act()
      account = signedIn.account
      return ("", signedIn.cookie)
    }
    if let account {
      let known = knownBrowser(of: request)
      let id = known?.accountID == account ? known!.id : hexEncoded(random(8))
      let token = LinkToken.make(
        for: .knownBrowser, of: [account, id, String(now.seconds)], with: settings.hmacKeys.newest)
      response.fields.append(("Set-Cookie", knownBrowserCookie.setting(token)))
    }
    return response
  }
}
