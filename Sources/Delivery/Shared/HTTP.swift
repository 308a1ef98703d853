import Base
import CCurl
import Cryptography

/// Client for HTTP and HTTPS, which keeps its connection between requests. Used by one thread at a
/// time. The corresponding C type is `CURL`.
///
/// Each request has a ``Destination``. Its rule restricts the addresses of a URL from a row. curl
/// follows no redirect and uses only the URL's protocol.
///
/// Uses the proxies of the environment (`https_proxy`, `no_proxy`), except for hosts of this
/// machine.
struct HTTPClient: ~Copyable {
  struct Limits: Sendable {
    /// Time limit for connecting.
    var connecting = Duration.seconds(5)
    /// Time limit for a request and its answer, including redirects. Less than the companion's time
    /// to stop.
    var total = Duration.seconds(7)
    /// Maximum size of a body in bytes, after decompression.
    var body = 8 << 20
    /// Ends the request within a second when it is set. Needed only if ``total`` is longer than the
    /// companion's time to stop.
    var stopping: Flag?
  }

  private let handle: OpaquePointer
  private let userAgent: String
  /// Path of a PEM file.
  private let certificatesFile: String?
  private let verifiesServers: Bool
  private let clock: LimitClock

  /// Calls `curl_global_init` once, before any thread uses the library.
  private static let library: Void = { curl_global_init(Int(CURL_GLOBAL_DEFAULT)) }()

  /// - Parameters:
  ///   - userAgent: our name, version and contact.
  ///   - certificatesFile: PEM file of certificates that are trusted in addition to the system's.
  ///   - verifiesServers: false accepts untrusted servers; then send nothing confidential.
  ///   - clock: clock for the limits of a request.
  init(
    userAgent: String, trusting certificatesFile: String? = nil, verifiesServers: Bool = true,
    clock: LimitClock = .system
  ) {
    _ = Self.library
    guard let handle = curl_easy_init() else { fatalError("curl_easy_init: out of memory") }
    self.handle = OpaquePointer(handle)
    self.userAgent = userAgent
    self.certificatesFile = certificatesFile
    self.verifiesServers = verifiesServers
    self.clock = clock
  }

  deinit { curl_easy_cleanup(UnsafeMutableRawPointer(handle)) }

  private var curl: UnsafeMutableRawPointer { UnsafeMutableRawPointer(handle) }

  /// Sends a GET request. Follows up to three redirects to the same host by https. If the
  /// destination has a rule, returns a redirect as the answer.
  ///
  /// - Parameter entityTag: entity tag of a stored answer; status 304 means that it is still
  ///   current.
  func get(
    _ destination: Destination, entityTag: String?, limits: Limits
  ) throws(HTTPError) -> HTTPAnswer {
    var destination = destination
    // Without the tag, the whole answer comes.
    let fields = entityTag.flatMap { $0.isOneLine ? ["If-None-Match: \($0)"] : nil } ?? []
    let deadline = clock.now() + limits.total
    var limits = limits
    for _ in 0...3 {
      // 0 would mean no limit.
      limits.total = max(.milliseconds(1), deadline - clock.now())
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

  /// Sends a request with credentials, only by https or to this machine. Returns a redirect as the
  /// answer.
  ///
  /// - Parameters:
  ///   - form: body of a POST request (`application/x-www-form-urlencoded`); nil for a GET request.
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

  /// Posts `body` with `fields`. Returns a redirect as the answer.
  func post(
    _ body: [UInt8], to destination: Destination, fields: [String], limits: Limits
  ) throws(HTTPError) -> HTTPAnswer {
    try perform(destination, fields: fields + ["Expect:"], body: body, limits: limits)
  }

  /// Posts confidential `body` with `fields`, only by https or to this machine. Reads at most
  /// `limits.body` bytes of the answer, and forgets them.
  ///
  /// - Returns: the status, also of a redirect.
  func postForStatus(
    _ body: [UInt8], to destination: Destination, fields: [String], limits: Limits
  ) throws(HTTPError) -> Int {
    guard destination.isConfidential else {
      throw HTTPError(kind: .redirected, reason: "not an https address")
    }
    return try perform(
      destination, fields: fields + ["Expect:"], body: body, limits: limits, readsAll: false
    ).status
  }

  /// Whether `next` uses https and has the host of `url`.
  static func mayFollow(from url: WebURL, to next: WebURL) -> Bool {
    next.isHTTPS && next.host == url.host
  }

  private func perform(
    _ destination: Destination, fields: [String], body sent: [UInt8]? = nil, limits: Limits,
    readsAll: Bool = true
  ) throws(HTTPError) -> HTTPAnswer {
    // A row may hold what becomes a field or an address. A line end in it would begin another field, or another request.
    guard (fields + [userAgent, destination.url.text]).allSatisfy(\.isOneLine) else {
      throw HTTPError(kind: .malformed, reason: "a field of the request has a line end")
    }
    let end = try begin(with: destination, limits: limits)
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
    let code = end.code(try transfer(to: destination))
    guard code == CURLE_OK || body.isTooLarge && !readsAll else {
      throw body.isTooLarge
        ? HTTPError(kind: .tooLarge, reason: "more than \(limits.body) bytes")
        : HTTPError(
          kind: .transport, reason: String(cString: curl_easy_strerror(code)),
          isUntrusted: code == CURLE_PEER_FAILED_VERIFICATION)
    }
    return answer(with: body.bytes)
  }

  /// Sets the options of every request.
  ///
  /// - Returns: the end of the request, which must exist until then.
  private func begin(with destination: Destination, limits: Limits) throws(HTTPError) -> TransferEnd
  {
    curl_easy_reset(curl)  // keeps the connection
    set(CURLOPT_USERAGENT, userAgent)
    set(CURLOPT_PROTOCOLS_STR, destination.url.scheme)
    switchboard_set_number(curl, CURLOPT_FOLLOWLOCATION, 0)
    switchboard_set_number(curl, CURLOPT_NOSIGNAL, 1)
    // A name lookup without an answer must not exceed the time limits.
    switchboard_set_number(curl, CURLOPT_QUICK_EXIT, 1)
    switchboard_set_number(
      curl, CURLOPT_CONNECTTIMEOUT_MS, milliseconds(limits.connecting))
    switchboard_set_number(curl, CURLOPT_TIMEOUT_MS, milliseconds(limits.total))
    let end = TransferEnd(at: clock.now() + limits.total, clock, stopping: limits.stopping)
    switchboard_set_number(curl, CURLOPT_NOPROGRESS, 0)
    switchboard_set_pointer(curl, CURLOPT_XFERINFODATA, Unmanaged.passUnretained(end).toOpaque())
    switchboard_set_progress(curl) { end, _, _, _, _ in
      guard let end else { return 0 }
      return Unmanaged<TransferEnd>.fromOpaque(end).takeUnretainedValue().isReached() ? 1 : 0
    }
    if destination.url.isOfThisMachine { set(CURLOPT_PROXY, "") }
    if !verifiesServers {
      switchboard_set_number(curl, CURLOPT_SSL_VERIFYPEER, 0)
      switchboard_set_number(curl, CURLOPT_SSL_VERIFYHOST, 0)
    }
    return end
  }

  private func milliseconds(_ limit: Duration) -> Int {
    Int(clock.realTime(of: limit) / .milliseconds(1))
  }

  /// Calls `curl_easy_perform` with the URL as we read it, and with a guard if the destination has
  /// a rule.
  private func transfer(to destination: Destination) throws(HTTPError) -> CURLcode {
    guard let url = CurlURL(destination.url) else {
      throw HTTPError(kind: .malformed, reason: "curl reads the address differently")
    }
    // Checked here too, because a proxy would connect to the address for us.
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
      retryAfter: seconds > 0
        ? .seconds(min(Int64(seconds), HTTPAnswer.longestRetryAfter.components.seconds)) : nil)
  }

  private func set(_ option: CURLoption, _ value: String) {
    switchboard_set_text(curl, option, value)
  }

  private func text(_ info: CURLINFO) -> String? {
    var value: UnsafeMutablePointer<CChar>?
    switchboard_get_text(curl, info, &value)
    return value.map { String(cString: $0) }
  }

  /// Time of the last answer, by the server's clock.
  var date: Timestamp? { field("Date").flatMap(Self.date) }

  /// IP address that gave the last answer; a proxy's if one was used.
  var address: String? { text(CURLINFO_PRIMARY_IP) }

  /// Certificate of an https server. Only connects, and does not verify the certificate.
  ///
  /// - Returns: nil if no server answers, or not with TLS.
  func certificate(of destination: Destination) -> SiteCertificate? {
    let limits = Limits(connecting: .seconds(3), total: .seconds(5))
    do throws(HTTPError) {
      let end = try begin(with: destination, limits: limits)
      switchboard_set_number(curl, CURLOPT_CONNECT_ONLY, 1)
      switchboard_set_number(curl, CURLOPT_SSL_VERIFYPEER, 0)
      switchboard_set_number(curl, CURLOPT_SSL_VERIFYHOST, 0)
      switchboard_set_number(curl, CURLOPT_CERTINFO, 1)
      guard end.code(try transfer(to: destination)) == CURLE_OK else { return nil }
    } catch {
      return nil
    }
    return shownCertificate
  }

  /// The server's own certificate, the first in its chain.
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
        // Without a fingerprint, only the comparison with the expected certificate is missing.
        fingerprint = (try? Certificate(pem: String(text.dropFirst(5)))).map { sha256($0.der) }
      }
      line = entry.pointee.next
    }
    guard let expiry, let fingerprint else { return nil }
    return SiteCertificate(expiresAt: expiry, fingerprint: fingerprint)
  }

  /// The corresponding C function is `curl_getdate`.
  ///
  /// - Returns: nil for other text, and outside of the years 1970 to 9999.
  static func date(_ text: String) -> Timestamp? {
    Timestamp(givenSeconds: Int64(curl_getdate(text, nil)))
  }

  /// A field of the last answer (`curl_easy_header`).
  func field(_ name: String) -> String? {
    var header: UnsafeMutablePointer<curl_header>?
    guard curl_easy_header(curl, name, 0, UInt32(CURLH_HEADER), -1, &header) == CURLHE_OK,
      let value = header?.pointee.value
    else { return nil }
    return String(cString: value)
  }
}

extension Destination {
  /// - Parameter text: a URL from the configuration, or built from such a URL.
  static func configured(_ text: String) throws(HTTPError) -> Destination {
    guard let destination = Destination(configured: text) else { throw .malformed }
    return destination
  }

  static func foreign(_ url: ForeignURL, under rule: OutboundRule) throws(HTTPError) -> Destination
  {
    guard let destination = Destination(url, under: rule) else { throw .malformed }
    return destination
  }

  /// Whether only the destination's host can read the request: it uses https or stays on this
  /// machine.
  var isConfidential: Bool { url.isHTTPS || url.isOfThisMachine }
}

/// Body of an answer, whose size is limited while it arrives.
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
