import Base
import Store

/// A problem with a field of a form.
struct FieldProblem {
  let field: String
  /// Tells people how to solve the problem, as a sentence.
  let sentence: String
}

/// A page for people at `/account`. It works without a script.
struct AccountPage {
  let language: Language
  let now: Timestamp
  /// The id of the relying party, for passkeys.
  let party: String
  /// The token of all forms of the page. Only the first form sent is accepted.
  let token: String
  var problem: FieldProblem?
  /// The text at the top of the page, as a sentence.
  var note: String?

  var texts: AccountTexts { AccountTexts(in: language) }

  /// - Parameter script: The path of a script.
  func page(_ title: String, _ content: String, script: String? = nil) -> Page {
    let message = note.map { #"<p role="status">\#($0.htmlEscaped)</p>"# } ?? ""
    return Page(
      language: language,
      title: problem == nil ? title : PageTexts(in: language).notDone(title),
      content: "\(message)\n\(content)",
      // With "no-referrer", browsers would send the Origin "null" with forms.
      referrerPolicy: "same-origin", script: script)
  }

  /// A form with the page's token.
  ///
  /// - Parameters:
  ///   - fields: HTML.
  ///   - isPrimary: Whether its button is the main button of the page.
  func form(
    _ path: String, _ fields: String = "", button: String, isPrimary: Bool = false
  ) -> String {
    """
    <form method="post" action="/account\(path)">
    <input type="hidden" name="token" value="\(token)">
    \(fields)
    <p><button\(isPrimary ? #" class="primary""# : "")>\(button)</button></p>
    </form>
    """
  }

  /// A field with its label and its problem, if it has one.
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

  /// The page that asks for the mailed code.
  var code: Page {
    page(
      texts.codeTitle,
      """
      <p>\(texts.codeIntro)</p>
      \(form(
        "/sign-in",
        labeledField("code", label: texts.code, #"inputmode="numeric" autocomplete="one-time-code" maxlength="10" dir="ltr""#),
        button: texts.signIn, isPrimary: true))
      \(form("/sign-out", button: texts.startAgain))
      """)
  }

  func deletion(of account: AccountOverview) -> Page {
    let email = account.profile.account.email
    let rest = """
      <p><a class="button" href="/account">\(texts.keepAccount)</a></p>
      \(form("/sign-out", button: texts.signOut))
      """
    guard account.isFresh else {
      return signInPage(
        texts.deletionTitle, "<p>\(texts.notes.proofTooOld)</p>", email: email, rest)
    }
    return page(
      texts.deletionTitle,
      """
      <p>\(texts.deletionIntro(email.pageText))</p>
      \(form("/delete", button: texts.deleteButton, isPrimary: true))
      \(rest)
      """)
  }
}
