import Base

extension String {
  /// Whether only the URL's host can read a request: it uses https or is on this machine.
  var isURLForSecrets: Bool {
    guard isVisibleASCII(atMost: 2000), !contains("#"), !contains("@"), let url = WebURL(self)
    else { return false }
    // The database accepts the scheme only in lower case.
    return hasPrefix(url.scheme) && (url.isHTTPS || url.isHTTP && url.isOfThisMachine)
  }

  /// The rule of ``isURLForSecrets`` for the value of an option.
  static func ruleForURL(_ option: String) -> String {
    "--\(option) must be an https URL, or an http URL of this machine, without '#' and '@'."
  }
}
