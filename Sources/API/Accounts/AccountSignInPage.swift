import Cryptography

extension AccountPage {
  /// The page of a browser without a sign-in. The address field offers passkeys by itself, if the browser supports it.
  ///
  /// - Parameter challenge: The challenge for a passkey, in base64url; with nil the script requests one.
  func signIn(email: String = "", challenge: String? = nil) -> Page {
    signInPage(
      texts.title, "<p>\(texts.intro)</p>", email: email,
      passkeyAttributes: " data-offers\(challenge.map { #" data-challenge="\#($0)""# } ?? "")")
  }

  /// The page of a person who must sign in again.
  func signInAgain(email: String) -> Page {
    signInPage(texts.signInAgain, "", email: email)
  }

  /// - Parameters:
  ///   - before: HTML above the forms; `after` below them.
  ///   - passkeyAttributes: HTML.
  func signInPage(
    _ title: String, _ before: String, email: String, _ after: String = "",
    passkeyAttributes: String = ""
  ) -> Page {
    page(
      title,
      """
      \(before)
      \(form(
        "/code",
        labeledField("email", label: texts.email, value: email,
          #"type="email" autocomplete="username webauthn" maxlength="254" dir="ltr""#),
        button: texts.mailCode, isPrimary: true))
      <h2>\(texts.withPasskey)</h2>
      <noscript><p>\(texts.passkeyNeedsScript)</p></noscript>
      <form method="post" action="/account/passkey" id="passkey" data-party="\(party.htmlEscaped)"
      data-error="\(texts.noPasskey)"\(passkeyAttributes)>
      <input type="hidden" name="token" value="\(token)">
      <input type="hidden" name="credential" value="">
      <p class="error" id="passkey-error" role="alert">\(passkeyProblem)</p>
      <p><button>\(texts.passkeyButton)</button></p>
      </form>
      \(after)
      """,
      // The digest selects the script of this version: browsers cache the script for an hour.
      script: "/account/passkey.js?\(hexEncoded(sha256(passkeyScript)).prefix(8))")
  }

  private var passkeyProblem: String {
    problem.flatMap { $0.field == "credential" ? $0.sentence.htmlEscaped : nil } ?? ""
  }
}
