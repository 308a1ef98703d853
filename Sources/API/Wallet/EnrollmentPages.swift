import Base
import HTTP
import Store

extension EnrollmentFailure {
  /// What a person is told.
  var message: String {
    switch self {
    case .invalidState: "This enrollment has expired or was used before. Please start again."
    case .userCancelled: "The enrollment was cancelled."
    case .bankRefused: "The bank refused the enrollment. Please start again."
    case .bankUnavailable: "The bank cannot be reached at the moment. Please try again later."
    case .noAnswer: "There was no answer in time, and nothing was stored. Please try again."
    }
  }
}

extension EnrollmentResult {
  /// The page for a browser. There is no web wallet that we could send it to.
  func page(bankName: String) -> Response {
    switch self {
    case .enrolled(let cards):
      let bank = "<p><strong>\(bankName.htmlEscaped)</strong></p>"
      let number = cards == 1 ? "One card is" : "\(cards) cards are"
      return Page(
        title: "Bank enrolled",
        content: "\(bank)\n<p>\(number) in your wallet. You can close this page.</p>"
      ).response()
    case .failed(let failure):
      return Page(title: "Bank not enrolled", content: "<p>\(failure.message.htmlEscaped)</p>")
        .response(status: 400)
    }
  }
}

extension Response {
  /// Too many requests wait for banks. A page, because a person cannot read our errors.
  ///
  /// - Parameter isForm: the browser cannot send a form again by itself.
  static func enrollmentsBusy(isForm: Bool) -> Response {
    let advice = isForm ? "Please go back and try again." : "This page tries again by itself."
    var response = Page(
      title: "One moment", content: "<p>Many people are adding cards now. \(advice)</p>"
    ).response(status: 503)
    response.fields.append(("Retry-After", "5"))
    if !isForm { response.fields.append(("Refresh", "5")) }
    return response
  }

  /// Asks whether the cards are for this wallet. Somebody else may have begun the enrollment and
  /// talked the person into it (RFC 9700 §4.7), so the page shows whose wallet it is.
  ///
  /// - Parameter fields: what the bank has sent, for the form to send again.
  static func enrollmentQuestion(
    bankName: String, email: String, bsimID: String, fields: [(String, String)]
  ) -> Response {
    let inputs = fields.map { name, value in
      #"<input type="hidden" name="\#(name)" value="\#(value.htmlEscaped)">"#
    }
    let content = """
      <p>This enrollment began on another device or network. Do you want to add your cards at \
      <strong>\(bankName.htmlEscaped)</strong> to the wallet of \
      <strong><bdi>\(email.initialAndDomain.htmlEscaped)</bdi></strong>?</p>
      <form method="post" action="/api/enrollment/callback/\(bsimID.percentEncoded)">
      \(inputs.joined(separator: "\n"))
      <button>Add the cards</button>
      <p>If this is not your wallet, close this page. Then nothing is added.</p>
      </form>
      """
    return Page(title: "Add these cards?", content: content, formTarget: "mwsim:").response()
  }
}

extension String {
  /// As much of an e-mail address as its owner needs to recognize it: `a…@example.org`.
  fileprivate var initialAndDomain: String {
    guard let at = unicodeScalars.lastIndex(of: "@") else { return "" }
    return "\(prefix(1))…\(self[at...])"
  }
}
