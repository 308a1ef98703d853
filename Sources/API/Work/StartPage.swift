import HTTP

/// `GET /`: tells whoever opens the address of the site what runs here, and what there is to see.
func getStartPage(_ request: Request, in context: borrowing Context) -> Response {
  let pairing = ("/pair", "Pair a phone", "shows the code that the app scans")
  let account = ("/account", "Your account", "shows what this site knows about you, and deletes it")
  let links =
    [account] + (context.settings.pairingAccess.admits(request) ? [pairing] : [])
    + [("/health", "Health", "tells programs whether everything works")]
  let items = links.map { path, name, meaning in
    #"<li><a href="\#(path)">\#(name)</a> \#(meaning).</li>"#
  }
  return Page(
    title: "Switchboard",
    content: """
      <p>This is Switchboard, the server of mobile apps. It signs people in, keeps their devices and settings, and
      tells them what is new. The apps do the rest: people need only these pages.</p>
      <ul>
      \(items.joined(separator: "\n"))
      </ul>
      """
  ).response()
}
