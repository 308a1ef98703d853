import Base
import ProcessSupport

/// The person responsible for the site, or its address, as operators of other services see it.
enum Contact {
  /// An e-mail address.
  case administrator(String)
  /// The site's main address, if no administrator is named.
  case site(WebURL)

  /// - Returns: nil if neither is given. A malformed address is a complaint, but not a missing contact.
  init?(from environment: inout Environment, publicURL: String?) {
    let name = "SWITCHBOARD_ADMINISTRATOR"
    if let address = environment.optional(name) {
      if !Mailbox.isAddress(address) {
        environment.complain(about: name, "must be an e-mail address in ASCII")
      }
      self = .administrator(address)
    } else if let url = publicURL.flatMap({ WebURL($0) }) {
      self = .site(url)
    } else {
      return nil
    }
  }

  var text: String {
    switch self {
    case .administrator(let address): address
    case .site(let url): url.text
    }
  }

  /// The subject of the token for push services (RFC 8292 §2.1): a `mailto:` or `https:` address.
  ///
  /// - Returns: nil for a site without https.
  var subject: String? {
    switch self {
    case .administrator(let address): "mailto:\(address)"
    case .site(let url): url.isHTTPS ? url.text : nil
    }
  }
}
