import CFastCGI
import Glibc
import HTTP

/// One thread of a ``Server``: waits for a readable connection, reads from it and answers complete requests.
///
/// Used only on its own thread.
final class Worker {
  let server: Server
  private let handler: (Request) -> Response
  private let exchange: Exchange
  /// Whether the current request has released this thread's permit.
  private var isWaiting = false
  /// Whether to rearm the listener after a pause, because there was no free descriptor or memory.
  private var isBackingOff = false

  /// The buffer of one read; usually larger than a whole request.
  private let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceSize, alignment: 8)
  private static let pieceSize = 16 << 10

  private static let backOffMilliseconds: CInt = 100
  /// The time for which a client that does not read its response may block a thread.
  private static let socketTimeout = timeval(tv_sec: 3, tv_usec: 0)

  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    precondition(pthread_key_create(&key, nil) == 0)
    return key
  }()

  /// The worker that runs on this thread.
  static var current: Worker? {
    pthread_getspecific(key).map { Unmanaged<Worker>.fromOpaque($0).takeUnretainedValue() }
  }

  init(of server: Server, _ handler: @escaping (Request) -> Response) {
    self.server = server
    self.handler = handler
    exchange = Exchange(paths: server.paths)
  }

  deinit { piece.deallocate() }

  /// Serves until the server stops.
  func run() {
    pthread_setspecific(Self.key, Unmanaged.passUnretained(self).toOpaque())
    server.permits.take()
    while server.phase < .stopped {
      let descriptor = server.poller.wait(timeout: isBackingOff ? Self.backOffMilliseconds : -1)
      if isBackingOff { armListener() }
      if let descriptor { handle(descriptor) }
      if isWaiting { endWaiting() }
    }
    server.permits.give()
    pthread_setspecific(Self.key, nil)
  }

  /// Does the work of ``Server/beginWaiting()`` on this thread.
  func beginWaiting() -> Bool {
    if isWaiting { return true }
    guard server.waiterSlots.tryToTake() else { return false }
    isWaiting = true
    server.permits.give()
    return true
  }

  private func endWaiting() {
    isWaiting = false
    server.waiterSlots.give()
    server.permits.take()
  }

  private func handle(_ descriptor: CInt) {
    switch descriptor {
    case server.listener.descriptor: acceptConnection()
    case server.stop.descriptor: break
    case server.aliveTimer.descriptor: reportAlive()
    case server.lateTimer.descriptor: endLateRequests()
    case let connection: read(connection, isPolled: true)
    }
  }

  /// Shuts down connections whose requests take too long to arrive. The poller then reports each one, and a worker
  /// closes it.
  private func endLateRequests() {
    server.lateTimer.clear()
    let latest = ContinuousClock.now - server.requestTimeLimit
    server.partialRequests.withLock { partialRequests in
      for (connection, partial) in partialRequests where partial.begin <= latest {
        shutdown(connection, CInt(SHUT_RDWR))
      }
    }
    server.poller.rearm(server.lateTimer.descriptor)
  }

  private func reportAlive() {
    server.aliveTimer.clear()
    server.report(.alive)
    server.poller.rearm(server.aliveTimer.descriptor)
  }

  // MARK: Accepting

  private func acceptConnection() {
    // Count first, then read the phase: either the supervisor waits for this connection, or we see that it drains.
    server.connectionBegins()
    guard server.phase == .serving else { return server.connectionEnded() }
    let connection = accept4(server.listener.descriptor, nil, nil, CInt(SOCK_CLOEXEC.rawValue))
    guard connection >= 0 else {
      acceptFailed(errno)
      return server.connectionEnded()
    }
    armListener()
    for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
      withUnsafeBytes(of: Self.socketTimeout) {
        _ = setsockopt(connection, SOL_SOCKET, option, $0.baseAddress, socklen_t($0.count))
      }
    }
    // Usually the request has already arrived.
    read(connection, isPolled: false)
  }

  private func armListener() {
    isBackingOff = false
    server.poller.rearm(server.listener.descriptor)
  }

  private func acceptFailed(_ code: CInt) {
    switch code {
    case EMFILE, ENFILE, ENOBUFS, ENOMEM:
      server.log.warning("accept4 failed with errno \(code); trying again")
      isBackingOff = true
    case EBADF, EFAULT, EINVAL, ENOTSOCK, EOPNOTSUPP:
      server.listenerFailed(FastCGIError("accept4", code))
    default:
      // Another process accepted it (EAGAIN), or the peer closed it (ECONNABORTED, network errors).
      armListener()
    }
  }

  // MARK: Reading

  /// Reads from `connection`: answers a complete request, or polls for the rest of a partial one.
  private func read(_ connection: CInt, isPolled: Bool) {
    let begun = server.partialRequests.withLock { $0.removeValue(forKey: connection) }
    var partial = begun ?? PartialRequest(bodyLimit: server.bodyLimit)
    if begun == nil {
      // Usually the request is complete, and libfcgi can read it directly from the connection.
      switch receive(from: connection, CInt(MSG_PEEK)) {
      case .ended: return close(connection)
      case .nothing: return poll(connection, isPolled: isPolled)
      case .some(let bytes): partial.append(bytes)
      }
      if partial.state == .complete {
        let request = exchange.receive(from: connection, bodyLimit: server.bodyLimit)
        return serve(request, on: connection, isPolled: isPolled)
      }
      _ = receive(from: connection, upTo: partial.bytes.count)
    }
    while partial.state == .incomplete {
      switch receive(from: connection) {
      case .ended: return drop(connection)
      case .nothing: return poll(connection, isPolled: isPolled, for: partial)
      case .some(let bytes): partial.append(bytes)
      }
    }
    guard partial.state == .complete else { return drop(connection) }
    let request = exchange.receive(
      partial.bytes, from: connection, bodyLimit: server.bodyLimit)
    serve(request, on: connection, isPolled: isPolled)
  }

  private enum Input {
    /// Valid until the next call.
    case some(UnsafeRawBufferPointer)
    case nothing, ended
  }

  private func receive(
    from connection: CInt, upTo count: Int = pieceSize, _ flags: CInt = 0
  ) -> Input {
    switch recv(connection, piece.baseAddress, count, flags | CInt(MSG_DONTWAIT)) {
    case let count where count > 0: .some(UnsafeRawBufferPointer(rebasing: piece[..<count]))
    case -1 where errno == EAGAIN: .nothing
    default: .ended
    }
  }

  /// Keeps `partial` and has the poller report `connection` when there is more to read.
  private func poll(_ connection: CInt, isPolled: Bool, for partial: PartialRequest? = nil) {
    if let partial { keep(partial, of: connection) }
    if isPolled { return server.poller.rearm(connection) }
    guard !server.poller.add(connection) else { return }
    server.partialRequests.withLock { $0[connection] = nil }
    close(connection)
  }

  /// Keeps a partial request until more arrives. If there are too many, shuts down the oldest connection.
  private func keep(_ partial: PartialRequest, of connection: CInt) {
    server.partialRequests.withLock { partialRequests in
      partialRequests[connection] = partial
      guard partialRequests.count > server.partialRequestLimit,
        let oldest = partialRequests.min(by: { $0.value.begin < $1.value.begin })
      else { return }
      partialRequests[oldest.key] = nil
      shutdown(oldest.key, CInt(SHUT_RDWR))
    }
  }

  private func drop(_ connection: CInt) {
    server.log.notice("connection dropped: no request")
    close(connection)
  }

  private func close(_ connection: CInt) {
    Glibc.close(connection)
    server.connectionEnded()
  }

  // MARK: Serving

  /// Answers `request`, and polls `connection` if it stays open.
  private func serve(_ request: Request?, on connection: CInt, isPolled: Bool) {
    guard let request else {
      server.log.notice("connection dropped: no request")
      return server.connectionEnded()
    }
    let isAllowed = request.isAuthorization || !server.isForAuthorizersOnly
    let response = isAllowed ? handler(request) : Response(status: 403)
    guard exchange.send(response, to: request.method, keep: server.phase < .closing) else {
      return server.connectionEnded()
    }
    poll(connection, isPolled: isPolled)
  }
}
