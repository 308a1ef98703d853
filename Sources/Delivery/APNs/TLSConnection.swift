import Base
import COpenSSL
import COpenSSL.TLS
import Glibc

/// Reason why a connection to APNs failed or ended. Apple has neither accepted nor refused
/// anything.
package enum APNsConnectionError: Error, Equatable, CustomStringConvertible {
  case unresolved(host: String, reason: String)
  case unreachable(APNsEndpoint, reason: String)
  case timedOut(APNsEndpoint)
  /// The server's certificate does not prove that it is `host`.
  case untrusted(host: String, reason: String)
  /// The server does not support HTTP/2 (ALPN `h2`, RFC 9113 §3.2).
  case noHTTP2(APNsEndpoint)
  case handshakeFailed(APNsEndpoint, reason: String)
  /// The text or file with additional trusted certificates holds no certificate.
  case noCertificates
  case lost(reason: String)

  package var description: String {
    switch self {
    case .unresolved(let host, let reason): "\(host) is not found: \(reason)"
    case .unreachable(let endpoint, let reason): "\(endpoint) cannot be reached: \(reason)"
    case .timedOut(let endpoint): "\(endpoint) does not answer in time"
    case .untrusted(let host, let reason): "the certificate of \(host) is not trusted: \(reason)"
    case .noHTTP2(let endpoint): "\(endpoint) does not speak HTTP/2"
    case .handshakeFailed(let endpoint, let reason): "TLS with \(endpoint) failed: \(reason)"
    case .noCertificates: "there is no certificate in APNS_CA_CERT"
    case .lost(let reason): "the connection is lost: \(reason)"
    }
  }

  /// Description without the host name.
  var cause: String {
    switch self {
    case .unresolved(_, let reason): "the host of APNs is not found: \(reason)"
    case .unreachable(_, let reason): "the host of APNs cannot be reached: \(reason)"
    case .timedOut: "the host of APNs does not answer in time"
    case .untrusted(_, let reason): "the certificate of the host of APNs is not trusted: \(reason)"
    case .noHTTP2: "the host of APNs does not speak HTTP/2"
    case .handshakeFailed(_, let reason): "TLS with the host of APNs failed: \(reason)"
    case .noCertificates, .lost: description
    }
  }
}

/// Certificates that our side of TLS trusts, and protocols that it offers.
///
/// The corresponding C type is `SSL_CTX`.
// @unchecked: changed in `init` only.
package final class TLSContext: @unchecked Sendable {
  fileprivate let handle: OpaquePointer

  /// Trusted certificates in addition to the system's, as PEM.
  package enum Certificates: Sendable, Equatable {
    case text(String)
    case file(String)
  }

  /// - Throws: ``APNsConnectionError/noCertificates``.
  package init(trusting certificates: Certificates?) throws(APNsConnectionError) {
    // OpenSSL writes with write(2), so SIGPIPE would end the program when a connection is lost.
    signal(SIGPIPE, SIG_IGN)
    handle = SSL_CTX_new(TLS_client_method())
    SSL_CTX_set_verify(handle, SSL_VERIFY_PEER, nil)
    SSL_CTX_ctrl(handle, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(TLS1_2_VERSION), nil)
    let modes = SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER
    SSL_CTX_ctrl(handle, SSL_CTRL_MODE, Int(modes), nil)
    SSL_CTX_ctrl(handle, SSL_CTRL_SET_READ_AHEAD, 1, nil)
    SSL_CTX_set_default_read_buffer_len(handle, 65_536)
    SSL_CTX_set_alpn_protos(handle, [2, UInt8(ascii: "h"), UInt8(ascii: "2")], 3)
    // Looks up certificates in a folder. Reading the file with all certificates, which OpenSSL's default
    // paths include, takes 27 ms and a megabyte.
    SSL_CTX_set_default_verify_dir(handle)
    if getenv("SSL_CERT_FILE") != nil { SSL_CTX_set_default_verify_file(handle) }
    if let certificates { try trust(certificates) }
  }

  deinit { SSL_CTX_free(handle) }

  /// The corresponding C functions are `PEM_read_bio_X509` and `X509_STORE_add_cert`.
  private func trust(_ certificates: Certificates) throws(APNsConnectionError) {
    let store = SSL_CTX_get_cert_store(handle)
    let source =
      switch certificates {
      case .text(let text):
        text.utf8.span.withUnsafeBufferPointer { bytes in
          let copy = BIO_new(BIO_s_mem())
          BIO_write(copy, bytes.baseAddress, Int32(bytes.count))
          return copy
        }
      case .file(let path): BIO_new_file(path, "r")
      }
    defer {
      BIO_free(source)
      ERR_clear_error()
    }
    var count = 0
    while source != nil, let certificate = PEM_read_bio_X509(source, nil, nil, nil) {
      X509_STORE_add_cert(store, certificate)
      X509_free(certificate)
      count += 1
    }
    guard count > 0 else { throw .noCertificates }
    // Trusts each given certificate, even if it is an intermediate or the server's own.
    X509_STORE_set_flags(store, UInt(X509_V_FLAG_PARTIAL_CHAIN))
  }
}

/// TLS connection to a server that has proved its name and speaks HTTP/2. It blocks only in
/// ``wait(for:until:)`` and while connecting.
///
/// The corresponding C type is `SSL`.
struct TLSConnection: ~Copyable {
  private let ssl: OpaquePointer
  private let descriptor: CInt
  private let clock: LimitClock
  private var readNeedsWriting = false

  /// - Parameter limit: for connecting and handshake together. The name lookup has the limit of the
  ///   system (resolv.conf(5)).
  static func establish(
    to endpoint: APNsEndpoint, with context: TLSContext, within limit: Duration,
    by clock: LimitClock
  ) throws(APNsConnectionError) -> TLSConnection {
    let addresses = try AddressList(endpoint)
    let deadline = clock.now() + limit
    let descriptor = try addresses.firstSocket(until: deadline, by: clock)
    let connection = TLSConnection(owning: descriptor, SSL_new(context.handle), clock)
    try connection.shakeHands(endpoint, until: deadline)
    return connection
  }

  private init(owning descriptor: CInt, _ ssl: OpaquePointer, _ clock: LimitClock) {
    self.descriptor = descriptor
    self.clock = clock
    self.ssl = ssl
  }

  deinit {
    ERR_clear_error()
    SSL_shutdown(ssl)
    SSL_free(ssl)
    close(descriptor)
    ERR_clear_error()
  }

  /// The corresponding C functions are `SSL_set1_host` and `SSL_connect`.
  private func shakeHands(
    _ endpoint: APNsEndpoint, until deadline: ContinuousClock.Instant
  ) throws(APNsConnectionError) {
    SSL_set_fd(ssl, descriptor)
    if X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), endpoint.host) != 1 {
      SSL_set1_host(ssl, endpoint.host)
      var name = Array(endpoint.host.utf8CString)
      SSL_ctrl(
        ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, Int(TLSEXT_NAMETYPE_host_name), &name)
    }
    while true {
      ERR_clear_error()
      let result = SSL_connect(ssl)
      if result == 1 { break }
      let failure = SSL_get_error(ssl, result)
      guard failure == SSL_ERROR_WANT_READ || failure == SSL_ERROR_WANT_WRITE else {
        throw handshakeError(endpoint)
      }
      let event = failure == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT
      guard wait(for: descriptor, event, until: deadline, by: clock) else {
        throw .timedOut(endpoint)
      }
    }
    var name: UnsafePointer<UInt8>?
    var size: UInt32 = 0
    SSL_get0_alpn_selected(ssl, &name, &size)
    guard UnsafeBufferPointer(start: name, count: Int(size)).elementsEqual("h2".utf8) else {
      throw .noHTTP2(endpoint)
    }
  }

  private func handshakeError(_ endpoint: APNsEndpoint) -> APNsConnectionError {
    let result = SSL_get_verify_result(ssl)
    if result != X509_V_OK {
      return .untrusted(
        host: endpoint.host, reason: String(cString: X509_verify_cert_error_string(result)))
    }
    let code = ERR_peek_last_error()
    // The server supports none of our protocols (RFC 7301 §3.2).
    let reason = Int32(truncatingIfNeeded: code & 0x7F_FFFF)
    if reason == SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL { return .noHTTP2(endpoint) }
    return .handshakeFailed(endpoint, reason: Self.text(of: code))
  }

  /// Reads available bytes into `buffer`. Read until it returns 0, because bytes that OpenSSL has
  /// read ahead do not wake ``wait(for:until:)``.
  ///
  /// The corresponding C function is `SSL_read`.
  ///
  /// - Throws: ``APNsConnectionError/lost(reason:)``.
  mutating func read(
    into buffer: UnsafeMutableRawBufferPointer
  ) throws(APNsConnectionError) -> Int {
    ERR_clear_error()
    let count = SSL_read(ssl, buffer.baseAddress, Int32(buffer.count))
    readNeedsWriting = false
    if count > 0 { return Int(count) }
    let failure = SSL_get_error(ssl, count)
    readNeedsWriting = failure == SSL_ERROR_WANT_WRITE
    guard readNeedsWriting || failure == SSL_ERROR_WANT_READ else { throw loss(failure) }
    return 0
  }

  /// Writes some of `bytes`; returns 0 if the socket accepts none now.
  ///
  /// The corresponding C function is `SSL_write`.
  ///
  /// - Throws: ``APNsConnectionError/lost(reason:)``.
  func write(_ bytes: Span<UInt8>) throws(APNsConnectionError) -> Int {
    ERR_clear_error()
    let count = bytes.withUnsafeBufferPointer { SSL_write(ssl, $0.baseAddress, Int32($0.count)) }
    if count > 0 { return Int(count) }
    let failure = SSL_get_error(ssl, count)
    guard failure == SSL_ERROR_WANT_WRITE || failure == SSL_ERROR_WANT_READ else {
      throw loss(failure)
    }
    return 0
  }

  /// The argument of ``wait(for:until:)`` until bytes can be read or, if asked, written.
  func polled(forWriting: Bool) -> pollfd {
    let events = forWriting || readNeedsWriting ? POLLIN | POLLOUT : POLLIN
    return pollfd(fd: descriptor, events: Int16(events), revents: 0)
  }

  private func loss(_ failure: CInt) -> APNsConnectionError {
    if failure == SSL_ERROR_ZERO_RETURN { return .lost(reason: "closed by the other side") }
    let code = ERR_peek_last_error()
    if code != 0 { return .lost(reason: Self.text(of: code)) }
    return .lost(reason: errno == 0 ? "closed" : String(cString: strerror(errno)))
  }

  private static func text(of code: UInt) -> String {
    ERR_reason_error_string(code).map { String(cString: $0) } ?? "closed by the other side"
  }
}

/// Waits for an event of any of `polled`; returns false at `deadline`. The corresponding C function is `poll`.
@discardableResult
func wait(
  for polled: inout [pollfd], until deadline: ContinuousClock.Instant, by clock: LimitClock
) -> Bool {
  while true {
    let rest = min(max(.zero, clock.realTime(of: deadline - clock.now())), clock.step)
    let count = poll(&polled, nfds_t(polled.count), CInt((rest / .milliseconds(1)).rounded(.up)))
    if count > 0 { return true }
    if count == 0, clock.now() >= deadline || rest == .zero { return false }
    if count < 0, errno != EINTR { return false }
  }
}

private func wait(
  for descriptor: CInt, _ event: Int32, until deadline: ContinuousClock.Instant,
  by clock: LimitClock
) -> Bool {
  var polled = [pollfd(fd: descriptor, events: Int16(event), revents: 0)]
  return wait(for: &polled, until: deadline, by: clock)
}

/// The addresses of a host.
///
/// The corresponding C type is `addrinfo`.
private struct AddressList: ~Copyable {
  private let endpoint: APNsEndpoint
  private let first: UnsafeMutablePointer<addrinfo>

  init(_ endpoint: APNsEndpoint) throws(APNsConnectionError) {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    hints.ai_flags = AI_ADDRCONFIG | AI_NUMERICSERV
    var list: UnsafeMutablePointer<addrinfo>?
    let failure = getaddrinfo(endpoint.host, "\(endpoint.port)", &hints, &list)
    guard failure == 0, let list else {
      throw .unresolved(host: endpoint.host, reason: String(cString: gai_strerror(failure)))
    }
    self.endpoint = endpoint
    first = list
  }

  deinit { freeaddrinfo(first) }

  /// Connects to the first address that answers. Each address gets an equal share of the time.
  func firstSocket(
    until deadline: ContinuousClock.Instant, by clock: LimitClock
  ) throws(APNsConnectionError) -> CInt {
    let addresses = Array(sequence(first: first) { $0.pointee.ai_next })
    var failure = APNsConnectionError.timedOut(endpoint)
    for (index, address) in addresses.enumerated() {
      let share = (deadline - clock.now()) / (addresses.count - index)
      do throws(APNsConnectionError) {
        return try socket(connectedTo: address.pointee, until: clock.now() + share, by: clock)
      } catch {
        failure = error
      }
    }
    throw failure
  }

  private func socket(
    connectedTo address: addrinfo, until deadline: ContinuousClock.Instant, by clock: LimitClock
  ) throws(APNsConnectionError) -> CInt {
    let type = address.ai_socktype | Int32(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    let descriptor = Glibc.socket(address.ai_family, type, address.ai_protocol)
    var failure: CInt = descriptor < 0 ? errno : 0
    if failure == 0, Glibc.connect(descriptor, address.ai_addr, address.ai_addrlen) != 0 {
      failure = errno
    }
    if failure == EINPROGRESS {
      guard wait(for: descriptor, POLLOUT, until: deadline, by: clock) else {
        close(descriptor)
        throw .timedOut(endpoint)
      }
      var size = socklen_t(MemoryLayout<CInt>.size)
      getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &failure, &size)
    }
    guard failure == 0 else {
      if descriptor >= 0 { close(descriptor) }
      throw .unreachable(endpoint, reason: String(cString: strerror(failure)))
    }
    var isOn: CInt = 1
    setsockopt(
      descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, socklen_t(MemoryLayout<CInt>.size))
    return descriptor
  }
}
