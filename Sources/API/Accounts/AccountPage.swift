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
  let language: Language
  let now: Timestamp
  /// Id of the relying party, for passkeys.
  let party: String
  /// Stands in each form, and is spent by the first that is sent.
  let token: String
  var problem: FieldProblem?
  /// What is said first, as a sentence.
  var note: String?

  var texts: AccountTexts { AccountTexts(in: language) }

  /// - Parameter script: path of a script.
  func page(_ title: String, _ content: String, script: String? = nil) -> Page {
    let message = note.map { #"<p role="status">\#($0.htmlEscaped)</p>"# } ?? ""
    return Page(
      language: language,
      title: problem == nil ? title : PageTexts(in: language).notDone(title),
      content: "\(message)\n\(content)",
      // Without any referrer, the Origin that forms send would be null.
      referrerPolicy: "same-origin", script: script)
  }

  /// A form with the page's token.
  ///
  /// - Parameters:
  ///   - fields: HTML.
  ///   - isPrimary: whether its button is what most people want of the page.
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

  /// The code that a mail brings.
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
