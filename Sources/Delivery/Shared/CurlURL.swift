import Base
import CCurl

/// A URL as curl has taken it apart, in the same way as we have. The corresponding C type is `CURLU`.
struct CurlURL: ~Copyable {
  /// The parts of a URL in curl's reading.
  struct Reading: Equatable {
    /// In lower case.
    var scheme: String?
    /// In lower case; IPv6 in brackets.
    var host: String?
    var port: String?
    var path: String?
    var query: String?
    var fragment: String?
    /// User, password and options; empty where there are none.
    var userInformation = ""
  }

  private let handle: OpaquePointer

  /// - Returns: nil where curl does not take the URL, or reads a part of it differently.
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

  /// How curl reads `text`; nil where it does not take it.
  static func reading(of text: String) -> Reading? {
    guard let handle = parsed(text) else { return nil }
    defer { curl_url_cleanup(handle) }
    return Reading(handle)
  }

  /// - Returns: a handle for the caller to clean up; nil where curl does not take `text`.
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
  /// Our own reading.
  init(_ url: WebURL) {
    scheme = url.scheme
    host = url.host
    port = url.port.map { "\($0)" }
    path = url.path
    query = url.query
    fragment = url.fragment
    forgetEmptyParts()
  }

  /// `curl_url_get`
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

  /// Versions of curl differ in whether they keep them.
  private mutating func forgetEmptyParts() {
    if query == "" { query = nil }
    if fragment == "" { fragment = nil }
  }
}
