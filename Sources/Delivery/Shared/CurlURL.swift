import Base
import CCurl

/// URL that curl and our own parser read in the same way. The corresponding C type is `CURLU`.
struct CurlURL: ~Copyable {
  /// Parts of a URL as curl reads them.
  struct Reading: Equatable {
    /// Scheme in lower case.
    var scheme: String?
    /// Host in lower case; IPv6 in brackets.
    var host: String?
    var port: String?
    var path: String?
    var query: String?
    var fragment: String?
    /// User, password and options; empty if there are none.
    var userInformation = ""
  }

  private let handle: OpaquePointer

  /// - Returns: nil if curl does not accept the URL, or reads a part of it differently.
  init?(_ url: WebURL) {
    guard let handle = Self.parsed(url.text) else { return nil }
    guard Reading(handle) == Reading(url) else {
      curl_url_cleanup(handle)
      return nil
    }
    self.handle = handle
  }

  deinit { curl_url_cleanup(handle) }

  /// Calls `body` with the handle, for `CURLOPT_CURLU`.
  func withHandle<Result>(_ body: (OpaquePointer) -> Result) -> Result { body(handle) }

  /// Parts of `text` as curl reads them; nil if curl does not accept it.
  static func reading(of text: String) -> Reading? {
    guard let handle = parsed(text) else { return nil }
    defer { curl_url_cleanup(handle) }
    return Reading(handle)
  }

  /// - Returns: a handle for the caller to clean up; nil if curl does not accept `text`.
  private static func parsed(_ text: String) -> OpaquePointer? {
    guard let handle = curl_url() else { return nil }
    if curl_url_set(handle, CURLUPART_URL, text, UInt32(CURLU_NON_SUPPORT_SCHEME)) == CURLUE_OK {
      return handle
    }
    curl_url_cleanup(handle)
    return nil
  }
}

extension CurlURL.Reading {
  /// Parts as our own parser reads them.
  init(_ url: WebURL) {
    scheme = url.scheme
    host = url.host
    port = url.port.map { "\($0)" }
    path = url.path
    query = url.query
    fragment = url.fragment
    forgetEmptyParts()
  }

  /// The corresponding C function is `curl_url_get`.
  fileprivate init(_ handle: OpaquePointer) {
    func part(_ part: CURLUPart) -> String? {
      var text: UnsafeMutablePointer<CChar>?
      guard curl_url_get(handle, part, &text, 0) == CURLUE_OK, let text else { return nil }
      defer { curl_free(text) }
      return String(cString: text)
    }
    scheme = part(CURLUPART_SCHEME)?.lowercased()
    host = part(CURLUPART_HOST)?.lowercased()
    port = part(CURLUPART_PORT)
    path = part(CURLUPART_PATH)
    query = part(CURLUPART_QUERY)
    fragment = part(CURLUPART_FRAGMENT)
    userInformation = [CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_OPTIONS].compactMap(part)
      .joined()
    forgetEmptyParts()
  }

  /// Removes empty parts, because only some versions of curl keep them.
  private mutating func forgetEmptyParts() {
    if query == "" { query = nil }
    if fragment == "" { fragment = nil }
  }
}
