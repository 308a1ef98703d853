import Base
import Cryptography
import HTTP
import Store

/// Cookies by which a browser shows that somebody has signed in to an account in it before. Such a browser asks for
/// codes within budgets of its own, so that strangers do not keep its owner out. The cookie signs nobody in.
extension Context {
  /// As long as the keys are kept that sign it.
  private static let lifetime = Duration.seconds(30 * 86_400)

  private var knownBrowserCookie: BrowserCookie {
    BrowserCookie(
      "known", at: settings.publicURL, lifetime: Self.lifetime, sameSite: "Strict")
  }

  /// The browser of a request; nil where its cookie is missing, too old or not ours.
  func knownBrowser(of request: Request) -> KnownBrowser? {
    guard let token = knownBrowserCookie.sentValue(in: request),
      let parts = LinkToken.parts(of: token, for: .knownBrowser, signedWith: settings.hmacKeys),
      parts.count == 3, let madeAt = Int64(parts[2]),
      madeAt > (now - Self.lifetime).seconds
    else { return nil }
    return KnownBrowser(accountID: parts[0], id: parts[1])
  }

  /// Does what a form asks for that signs in, and has the browser remember it.
  ///
  /// - Parameter act: returns the id of the account, and the cookie of the visit.
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
