import HTTP

/// `GET /`: shows a page about the site, with links to its pages.
func getStartPage(_ request: Request, in context: borrowing Context) -> Response {
  let texts = StartTexts(in: request.messageLanguage)
  let pairing = ("/pair", texts.pairing, texts.pairingMeaning)
  let account = ("/account", texts.account, texts.accountMeaning)
  let links =
    [account] + (context.settings.pairingAccess.admits(request) ? [pairing] : [])
    + [("/health", texts.health, texts.healthMeaning)]
  let items = links.map { path, name, meaning in
    #"<li><a class="link" href="\#(path)">\#(name)</a><br>\#(meaning)</li>"#
  }
  return Page(
    language: request.messageLanguage, title: "Switchboard",
    content: """
      <p>\(texts.intro)</p>
      <ul>
      \(items.joined(separator: "\n"))
      </ul>
      """
  ).response()
}

extension Endpoint {
  static var getStartPage: Endpoint {
    Endpoint(API.getStartPage) {
      Operation("Shows a page about the site.", answers: .page("The page."))
    }
  }
}
