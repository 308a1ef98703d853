import Base
import Store

/// What is wrong with a field of a form.
struct FieldProblem {
  let field: String
  /// What to do about it, as a sentence.
  let sentence: String
}

/// One page for people at `/account`: it works without a script.
struct AccountPage {
  /// Stands in each form, and is spent by the first that is sent.
  let token: String
  var problem: FieldProblem?
  /// What is said first, as a sentence.
  var note: String?

  /// - Parameter script: path of a script.
  func page(_ title: String, _ content: String, script: String? = nil) -> Page {
    let message = note.map { #"<p role="status">\#($0.htmlEscaped)</p>"# } ?? ""
    return Page(
      title: problem == nil ? title : "\(title): not done", content: "\(message)\n\(content)",
      // Without any referrer, the Origin that forms send would be null.
      referrerPolicy: "same-origin", script: script)
  }

  /// A form with the page's token.
  ///
  /// - Parameter fields: HTML.
  func form(_ path: String, _ fields: String, button: String) -> String {
    """
    <form method="post" action="/account\(path)">
    <input type="hidden" name="token" value="\(token)">
    \(fields)
    <p><button>\(button)</button></p>
    </form>
    """
  }

  /// A field with its label, and with what is wrong with it, if something is.
  ///
  /// - Parameter attributes: HTML.
  func labeledField(_ name: String, label: String, value: String = "", _ attributes: String)
    -> String
  {
    let wrong = problem.flatMap { $0.field == name ? $0.sentence : nil }
    let error = wrong.map { #"<p class="error" id="\#(name)-error">\#($0.htmlEscaped)</p>"# } ?? ""
    let state =
      wrong == nil ? "" : #" aria-invalid="true" aria-describedby="\#(name)-error" autofocus"#
    return """
      <label for="\(name)">\(label)</label>
      \(error)
      <input id="\(name)" name="\(name)" value="\(value.htmlEscaped)" required \(attributes)\(state)>
      """
  }

  /// The forms of somebody who is to sign in.
  func signInForms(email: String = "") -> String {
    """
    \(form(
      "/code",
      labeledField("email", label: "E-mail address", value: email, #"type="email" autocomplete="email" maxlength="254""#),
      button: "Mail me a code"))
    <h2>With a passkey</h2>
    \(form("/passkey", "", button: "Sign in with a passkey"))
    """
  }

  func signIn(email: String = "") -> Page {
    page(
      "Your account",
      """
      <p>See, change and delete what this site knows about you. Sign in with a code that we mail to the address
      of your account, or with a passkey.</p>
      \(signInForms(email: email))
      """)
  }

  var code: Page {
    page(
      "Type the code",
      """
      <p>If an account has that address, we have mailed it a code of six digits. It is good for five minutes.</p>
      \(form(
        "/sign-in",
        labeledField("code", label: "Code from the mail", #"inputmode="numeric" autocomplete="one-time-code" maxlength="10""#),
        button: "Sign in"))
      \(form("/sign-out", "", button: "Start again"))
      """)
  }

  /// - Parameters:
  ///   - challenge: in base64url.
  ///   - party: id of the relying party.
  func passkey(challenge: String, party: String) -> Page {
    page(
      "Use your passkey",
      """
      <p>Your browser asks for your passkey when you press the button.</p>
      <noscript><p>This needs JavaScript, which your browser has switched off. Start again, and sign in with a
      code.</p></noscript>
      <form method="post" action="/account/passkey/sign-in" id="passkey" data-challenge="\(challenge)"
      data-party="\(party.htmlEscaped)">
      <input type="hidden" name="token" value="\(token)">
      <input type="hidden" name="credential" value="">
      \(problem.map { #"<p class="error">\#($0.sentence.htmlEscaped)</p>"# } ?? "")
      <p class="error" id="passkey-error" role="alert"></p>
      <p><button>Use your passkey</button></p>
      </form>
      \(form("/sign-out", "", button: "Start again"))
      """, script: "/account/passkey.js")
  }

  func deletion(of account: AccountOverview) -> Page {
    let email = account.profile.account.email
    let question =
      account.isFresh
      ? """
      <p>This deletes the account of <bdi>\(email.htmlEscaped)</bdi>: devices, passkeys, banks, cards and
      settings. It cannot be undone. Records of payments stay, without your name.</p>
      \(form("/delete", "", button: "Delete my account"))
      """
      : """
      <p>You signed in more than ten minutes ago. Sign in again, and then come back to delete your account.</p>
      \(signInForms(email: email))
      """
    return page(
      "Delete your account?",
      """
      \(question)
      <p><a href="/account">Keep my account</a></p>
      \(form("/sign-out", "", button: "Sign out"))
      """)
  }
}
