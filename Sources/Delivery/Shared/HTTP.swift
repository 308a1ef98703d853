import Base
import CCurl
import Cryptography

/// What a server answered.
struct HTTPAnswer {
  let status: Int
  let body: [UInt8]
  /// `ETag`
  let entityTag: String?
  /// `Retry-After`, given as seconds or as a date (RFC 9110 §10.2.3).
  let retryAfter: Duration?
}

/// Why there is no answer.
struct HTTPError: Error, Equatable {
  enum Kind {
    /// No connection, no TLS, no answer in time, or one that ends early.
    case transport
    /// More than the bound.
    case tooLarge
    /// To another host, or not by https, or again and again.
    case redirected
    /// No URL, or one that curl reads differently.
    case malformed
    /// The name leads to an address that the rule does not admit.
    case forbiddenAddress
  }

  let kind: Kind
  let reason: String
  /// Whether that is because the server's certificate is not trusted.
  var isUntrusted = false
}

/// Asks by HTTP and HTTPS, over a connection that is kept from one to the next. Used by one thread
/// at a time. The corresponding C type is `CURL`.
///
/// Each request has a ``Destination``: what a row names is asked at the addresses that its rule admits only, and curl
/// follows no redirect and speaks no other protocol than the URL's.
///
/// Proxies are those of the environment (`https_proxy`, `no_proxy`), but for hosts of this machine.
struct HTTPClient: ~Copyable {
  struct Limits: Sendable {
    /// Until there is a connection.
    var connecting = Duration.seconds(5)
    /// For all of a question and its answer, also where it is asked elsewhere. Less than the companion has to end.
    var total = Duration.seconds(7)
    /// Bytes of a body, after it is unpacked.
    var body = 8 << 20
  }

  private let handle: OpaquePointer
  private let userAgent: String
  /// PEM
  private let certificatesFile: String?
  private let verifiesServers: Bool

  /// `curl_global_init` is safe to call once only, before any thread uses the library.
  private static let library: Void = { curl_global_init(Int(CURL_GLOBAL_DEFAULT)) }()

  /// - Parameters:
  ///   - userAgent: names us, our version and our contact.
  ///   - certificatesFile: PEM certificates that are trusted beside the system's.
  ///   - verifiesServers: whether only trusted servers are asked. Nothing confidential goes to others.
  init(
    userAgent: String, trusting certificatesFile: String? = nil, verifiesServers: Bool = true
  ) {
    _ = Self.library
    guard let handle = curl_easy_init() else { fatalError("curl_easy_init: out of memory") }
    self.handle = OpaquePointer(handle)
    self.userAgent = userAgent
    self.certificatesFile = certificatesFile
    self.verifiesServers = verifiesServers
  }

  deinit { curl_easy_cleanup(UnsafeMutableRawPointer(handle)) }

  private var curl: UnsafeMutableRawPointer { UnsafeMutableRawPointer(handle) }

  /// The answer to a GET, up to three redirects to the same host by https followed. Where a rule guards the
  /// destination, a redirect is an answer.
  ///
  /// - Parameter entityTag: of the answer that is at hand; 304 says that it still holds.
  func get(
    _ destination: Destination, entityTag: String?, limits: Limits
  ) throws(HTTPError) -> HTTPAnswer {
    var destination = destination
    let fields = entityTag.map { ["If-None-Match: \($0)"] } ?? []
    let deadline = ContinuousClock.now + limits.total
    var limits = limits
    for _ in 0...3 {
      // 0 would be no limit.
      limits.total = max(.milliseconds(1), deadline - .now)
      let answer = try perform(destination, fields: fields, limits: limits)
      guard destination.rule == nil, (300...399).contains(answer.status), answer.status != 304
      else { return answer }
      guard let next = text(CURLINFO_REDIRECT_URL).flatMap({ WebURL($0) }),
        Self.mayFollow(from: destination.url, to: next)
      else {
        throw HTTPError(kind: .redirected, reason: "\(answer.status): redirected elsewhere")
      }
      destination = try .configured(next.text)
    }
    throw HTTPError(kind: .redirected, reason: "redirected again and again")
  }

  /// The answer of a server that is asked with credentials: by https, or on this machine, and a redirect
  /// is an answer as well.
  ///
  /// - Parameters:
  ///   - form: what is posted (`application/x-www-form-urlencoded`); nil asks by GET.
  ///   - authorization: value of the field; printable ASCII.
  func ask(
    _ destination: Destination, posting form: String? = nil, authorization: String, limits: Limits
  ) throws(HTTPError) -> HTTPAnswer {
    guard destination.isConfidential else {
      throw HTTPError(kind: .redirected, reason: "not an https address")
    }
    return try perform(
      destination, fields: ["Authorization: \(authorization)", "Expect:"],
      body: form.map { Array($0.utf8) }, limits: limits)
  }

  /// The answer to `body`, posted with `fields`. A redirect is an answer as well.
  func post(
    _ body: [UInt8], to destination: Destination, fields: [String], limits: Limits
  ) throws(HTTPError) -> HTTPAnswer {
    try perform(destination, fields: fields + ["Expect:"], body: body, limits: limits)
  }

  /// Whether `next` is https at the host of `url`.
  static func mayFollow(from url: WebURL, to next: WebURL) -> Bool {
    next.isHTTPS && next.host == url.host
  }

  private func perform(
    _ destination: Destination, fields: [String], body sent: [UInt8]? = nil, limits: Limits
  ) throws(HTTPError) -> HTTPAnswer {
    try begin(with: destination, limits: limits)
    let body = ReceivedBody(limit: limits.body)
    var list = curl_slist_append(nil, "Accept: application/json")
    for field in fields { list = curl_slist_append(list, field) }
    defer { curl_slist_free_all(list) }
    if var sent {
      switchboard_set_number(curl, CURLOPT_POSTFIELDSIZE, sent.count)
      switchboard_set_pointer(curl, CURLOPT_COPYPOSTFIELDS, &sent)
    }
    set(CURLOPT_ACCEPT_ENCODING, "gzip")
    set(CURLOPT_CAPATH, "/etc/ssl/certs")  // the bundle file costs 27 ms to read
    switchboard_set_text(curl, CURLOPT_CAINFO, certificatesFile)
    switchboard_set_list(curl, CURLOPT_HTTPHEADER, list)
    switchboard_set_receiver(curl, CURLOPT_WRITEFUNCTION) { bytes, _, count, body in
      guard let bytes, let body else { return 0 }
      let isTaken = Unmanaged<ReceivedBody>.fromOpaque(body).takeUnretainedValue()
        .append(UnsafeRawBufferPointer(start: bytes, count: count))
      return isTaken ? count : 0
    }
    switchboard_set_pointer(
      curl, CURLOPT_WRITEDATA, Unmanaged.passUnretained(body).toOpaque())
    let code = try transfer(to: destination)
    guard code == CURLE_OK else {
      throw body.isTooLarge
        ? HTTPError(kind: .tooLarge, reason: "more than \(limits.body) bytes")
        : HTTPError(
          kind: .transport, reason: String(cString: curl_easy_strerror(code)),
          isUntrusted: code == CURLE_PEER_FAILED_VERIFICATION)
    }
    return answer(with: body.bytes)
  }

  /// Sets what holds for every request.
  private func begin(with destination: Destination, limits: Limits) throws(HTTPError) {
    curl_easy_reset(curl)  // the connection stays
    set(CURLOPT_USERAGENT, userAgent)
    set(CURLOPT_PROTOCOLS_STR, destination.url.scheme)
    switchboard_set_number(curl, CURLOPT_FOLLOWLOCATION, 0)
    switchboard_set_number(curl, CURLOPT_NOSIGNAL, 1)
    // A name that nobody answers for is not waited for beyond the limits.
    switchboard_set_number(curl, CURLOPT_QUICK_EXIT, 1)
    switchboard_set_number(
      curl, CURLOPT_CONNECTTIMEOUT_MS, Int(limits.connecting / .milliseconds(1)))
    switchboard_set_number(curl, CURLOPT_TIMEOUT_MS, Int(limits.total / .milliseconds(1)))
    if destination.url.isOfThisMachine { set(CURLOPT_PROXY, "") }
    if !verifiesServers {
      switchboard_set_number(curl, CURLOPT_SSL_VERIFYPEER, 0)
      switchboard_set_number(curl, CURLOPT_SSL_VERIFYHOST, 0)
    }
  }

  /// `curl_easy_perform`, with the URL as we have read it, and a guard where the destination has a rule.
  private func transfer(to destination: Destination) throws(HTTPError) -> CURLcode {
    guard let url = CurlURL(destination.url) else {
      throw HTTPError(kind: .malformed, reason: "curl reads the address differently")
    }
    // A proxy would connect to it for us.
    if let rule = destination.rule, let address = destination.url.address, !rule.admits(address) {
      throw .forbidden(address)
    }
    let watch = destination.rule.map { ConnectionGuard($0) }
    watch?.watch(curl)
    let code = url.withHandle { handle in
      switchboard_set_pointer(curl, CURLOPT_CURLU, UnsafeMutableRawPointer(handle))
      return curl_easy_perform(curl)
    }
    if code != CURLE_OK, let address = watch?.refused { throw .forbidden(address) }
    return withExtendedLifetime(watch) { code }
  }

  private func answer(with body: [UInt8]) -> HTTPAnswer {
    var status = 0
    switchboard_get_number(curl, CURLINFO_RESPONSE_CODE, &status)
    var seconds: curl_off_t = 0
    switchboard_get_offset(curl, CURLINFO_RETRY_AFTER, &seconds)
    return HTTPAnswer(
      status: status, body: body, entityTag: field("ETag"),
      retryAfter: seconds > 0 ? .seconds(Int64(seconds)) : nil)
  }

  private func set(_ option: CURLoption, _ value: String) {
    switchboard_set_text(curl, option, value)
  }

  private func text(_ info: CURLINFO) -> String? {
    var value: UnsafeMutablePointer<CChar>?
    switchboard_get_text(curl, info, &value)
    return value.map { String(cString: $0) }
  }

  /// The time of the last answer, by the clock of who answered.
  var date: Timestamp? { field("Date").flatMap(Self.date) }

  /// The certificate that an https address shows. Connects only: the certificate is not verified.
  ///
  /// - Returns: nil where nobody answers, or not by TLS.
  func certificate(of destination: Destination) -> SiteCertificate? {
    let limits = Limits(connecting: .seconds(3), total: .seconds(5))
    do throws(HTTPError) {
      try begin(with: destination, limits: limits)
      switchboard_set_number(curl, CURLOPT_CONNECT_ONLY, 1)
      switchboard_set_number(curl, CURLOPT_SSL_VERIFYPEER, 0)
      switchboard_set_number(curl, CURLOPT_SSL_VERIFYHOST, 0)
      switchboard_set_number(curl, CURLOPT_CERTINFO, 1)
      guard try transfer(to: destination) == CURLE_OK else { return nil }
    } catch {
      return nil
    }
    return shownCertificate
  }

  /// The certificate of the server itself, the first that it has shown.
  private var shownCertificate: SiteCertificate? {
    var certificates: UnsafeMutablePointer<curl_certinfo>?
    switchboard_get_certificates(curl, &certificates)
    guard let all = certificates?.pointee, all.num_of_certs > 0 else { return nil }
    var (expiry, fingerprint): (Timestamp?, [UInt8]?)
    var line = all.certinfo[0]
    while let entry = line {
      let text = String(cString: entry.pointee.data)
      if text.hasPrefix("Expire date:") { expiry = Self.date(String(text.dropFirst(12))) }
      if text.hasPrefix("Cert:") {
        fingerprint = (try? Certificate(pem: String(text.dropFirst(5)))).map { sha256($0.der) }
      }
      line = entry.pointee.next
    }
    guard let expiry, let fingerprint else { return nil }
    return SiteCertificate(expiresAt: expiry, fingerprint: fingerprint)
  }

  /// `curl_getdate`
  private static func date(_ text: String) -> Timestamp? {
    let seconds = curl_getdate(text, nil)
    return seconds < 0 ? nil : Timestamp(seconds: Int64(seconds))
  }

  /// A field of the last answer (`curl_easy_header`).
  private func field(_ name: String) -> String? {
    var header: UnsafeMutablePointer<curl_header>?
    guard curl_easy_header(curl, name, 0, UInt32(CURLH_HEADER), -1, &header) == CURLHE_OK,
      let value = header?.pointee.value
    else { return nil }
    return String(cString: value)
  }
}

extension Destination {
  /// - Parameter text: from the configuration, or made of what the configuration names.
  static func configured(_ text: String) throws(HTTPError) -> Destination {
    guard let destination = Destination(configured: text) else { throw .malformed }
    return destination
  }

  static func foreign(_ url: ForeignURL, under rule: OutboundRule) throws(HTTPError) -> Destination
  {
    guard let destination = Destination(url, under: rule) else { throw .malformed }
    return destination
  }

  /// Whether what is sent there is read by its host alone: it is https, or goes to this machine.
  var isConfidential: Bool { url.isHTTPS || url.isOfThisMachine }
}

extension HTTPError {
  fileprivate static let malformed = HTTPError(
    kind: .malformed, reason: "not an address of HTTP that can be read")

  fileprivate static func forbidden(_ address: String) -> HTTPError {
    HTTPError(
      kind: .forbiddenAddress,
      reason: "its address \(address) is private: see SWITCHBOARD_OUTBOUND_ALLOW")
  }
}

/// A body while it comes in: bounded then, not afterwards.
private final class ReceivedBody {
  private let limit: Int
  private(set) var bytes: [UInt8] = []
  private(set) var isTooLarge = false

  init(limit: Int) { self.limit = limit }

  func append(_ part: UnsafeRawBufferPointer) -> Bool {
    isTooLarge = bytes.count + part.count > limit
    if !isTooLarge { bytes += part }
    return !isTooLarge
  }
}
