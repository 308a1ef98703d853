import CGlibc
import Glibc
import HTTP

/// One thread of a ``Server``: waits for a readable connection, reads from it and answers complete requests. Requests of
/// one group that have arrived are answered together (``Handler``).
///
/// Used only on its own thread.
final class Worker {
  let server: Server
  private let handler: Handler
  /// Exchanges without a request.
  private var exchanges: [Exchange] = []
  /// Whether this worker has a permit to poll.
  private var isPolling = false
  /// Whether the current request has released this thread's permit.
  private var isWaiting = false
  /// Whether to rearm the listener after a pause, because there was no free descriptor or memory.
  private var isBackingOff = false

  /// The buffer of one read; usually larger than a whole request.
  private let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceSize, alignment: 8)
  private static let pieceSize = 16 << 10

  private static let backOffMilliseconds: CInt = 100
  /// The time after which workers with a permit to poll do not get on: a group of reads takes a few milliseconds.
  private static let pollingPause: Duration = .milliseconds(30)
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

  /// A complete request, whose connection waits for the response.
  private struct Arrival {
    let request: Request
    let exchange: Exchange
    let connection: CInt
    let isPolled: Bool
  }

  init(of server: Server, _ handler: Handler) {
    self.server = server
    self.handler = handler
  }

  deinit { piece.deallocate() }

  /// Serves until the server stops.
  func run() {
    pthread_setspecific(Self.key, Unmanaged.passUnretained(self).toOpaque())
    server.permits.take()
    beginPolling()
    while server.phase < .stopped {
      let descriptor = server.poller.wait(timeout: isBackingOff ? Self.backOffMilliseconds : -1)
      if isPolling { server.polls.add(1, ordering: .relaxed) }
      if isBackingOff { armListener() }
      if let arrival = descriptor.flatMap(handle) { serve(arrival) }
      if isWaiting { endWaiting() }
      beginPolling()
    }
    endPolling()
    server.permits.give()
    pthread_setspecific(Self.key, nil)
  }

  /// Waits for a permit to poll, as long as the workers that have one get on. If they are idle, or wait for the database,
  /// this worker polls without one.
  private func beginPolling() {
    while !isPolling {
      let polls = server.polls.load(ordering: .relaxed)
      isPolling = server.pollers.take(within: Self.pollingPause)
      if polls == server.polls.load(ordering: .relaxed) { return }
    }
  }

  /// Lets another worker poll.
  private func endPolling() {
    if isBackingOff { armListener() }
    guard isPolling else { return }
    isPolling = false
    server.pollers.give()
  }

  /// Does the work of ``Server/beginWaiting()`` on this thread.
  func beginWaiting() -> Bool {
    if isWaiting { return true }
    guard server.waiterSlots.tryToTake() else { return false }
    isWaiting = true
    endPolling()
    server.permits.give()
    return true
  }

  private func endWaiting() {
    isWaiting = false
    server.waiterSlots.give()
    server.permits.take()
  }

  /// - Returns: The request that is complete now, if any.
  private func handle(_ descriptor: CInt) -> Arrival? {
    switch descriptor {
    case server.listener.descriptor: return acceptConnection()
    case server.stop.descriptor: break
    case server.aliveTimer.descriptor: reportAlive()
    case server.lateTimer.descriptor: endLateRequests()
    case let connection: return read(connection, isPolled: true)
    }
    return nil
  }

  /// Ends requests that take too long to arrive.
  private func endLateRequests() {
    server.lateTimer.clear()
    server.endPartialRequests(begunBy: .now - server.requestTimeLimit)
    server.poller.rearm(server.lateTimer.descriptor)
  }

  private func reportAlive() {
    server.aliveTimer.clear()
    server.report(.alive)
    server.poller.rearm(server.aliveTimer.descriptor)
  }

  // MARK: Accepting

  private func acceptConnection() -> Arrival? {
    // Count first, then read the phase: either the supervisor waits for this connection, or we see that it drains.
    server.connectionBegins()
    guard server.phase == .serving else {
      server.connectionEnded()
      return nil
    }
    let connection = accept4(server.listener.descriptor, nil, nil, CInt(SOCK_CLOEXEC.rawValue))
    guard connection >= 0 else {
      acceptFailed(errno)
      server.connectionEnded()
      return nil
    }
    armListener()
    for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
      withUnsafeBytes(of: Self.socketTimeout) {
        _ = setsockopt(connection, SOL_SOCKET, option, $0.baseAddress, socklen_t($0.count))
      }
    }
    // Usually the request has already arrived.
    return read(connection, isPolled: false)
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

  /// Reads from `connection`; polls for the rest of a partial request.
  ///
  /// - Returns: The request that is complete now, if any.
  private func read(_ connection: CInt, isPolled: Bool) -> Arrival? {
    let begun = server.partialRequests.withLock { $0.removeValue(forKey: connection) }
    if begun == nil {
      // Usually the request is complete, and libfcgi can read it directly from the connection.
      switch receive(from: connection, CInt(MSG_PEEK)) {
      case .ended:
        close(connection)
        return nil
      case .nothing:
        poll(connection, isPolled: isPolled)
        return nil
      case .some(let bytes):
        var scan = RecordScan(bodyLimit: server.bodyLimit)
        if scan.advance(over: bytes) == nil, scan.state == .complete {
          return arrival(on: connection, isPolled: isPolled) { exchange in
            exchange.receive(from: connection, bodyLimit: server.bodyLimit)
          }
        }
      }
    }
    var partial = begun ?? PartialRequest(bodyLimit: server.bodyLimit)
    while partial.state == .incomplete {
      switch receive(from: connection) {
      case .ended:
        drop(connection)
        return nil
      case .nothing:
        poll(connection, isPolled: isPolled, for: partial)
        return nil
      case .some(let bytes): partial.append(bytes)
      }
    }
    guard partial.state == .complete else {
      drop(connection)
      return nil
    }
    return arrival(on: connection, isPolled: isPolled) { exchange in
      exchange.receive(partial.bytes, from: connection, bodyLimit: server.bodyLimit)
    }
  }

  private func arrival(
    on connection: CInt, isPolled: Bool, _ receive: (Exchange) -> Request?
  ) -> Arrival? {
    let exchange = exchanges.popLast() ?? Exchange(paths: server.paths)
    if let request = receive(exchange) {
      return Arrival(
        request: request, exchange: exchange, connection: connection, isPolled: isPolled)
    }
    exchanges.append(exchange)
    server.log.notice("connection dropped: no request")
    server.connectionEnded()
    return nil
  }

  private enum Input {
    /// Valid until the next call.
    case some(UnsafeRawBufferPointer)
    case nothing, ended
  }

  private func receive(
    from connection: CInt, _ flags: CInt = 0
  ) -> Input {
    switch recv(connection, piece.baseAddress, piece.count, flags | CInt(MSG_DONTWAIT)) {
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

  /// Keeps a partial request until more arrives. If there are too many, refuses the oldest one and shuts down its connection.
  /// The poller then reports it. It stays until then, because the rest of it would be read as a new request.
  private func keep(_ partial: PartialRequest, of connection: CInt) {
    server.partialRequests.withLock { partialRequests in
      partialRequests[connection] = partial
      guard partialRequests.count > server.partialRequestLimit,
        let oldest = partialRequests.filter({ $0.value.state == .incomplete })
          .min(by: { $0.value.begin < $1.value.begin })
      else { return }
      partialRequests[oldest.key]!.refuse()
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

  /// Answers `arrival`, together with the requests of its group that have arrived too (``Handler``).
  ///
  /// No other worker polls meanwhile, so that the next requests gather too, unless this one answers a request alone.
  private func serve(_ arrival: Arrival) {
    let isAllowed = arrival.request.isAuthorization || !server.isForAuthorizersOnly
    guard isAllowed else { return send(Response(status: 403), to: arrival) }
    guard let group = handler.group(arrival.request) else {
      endPolling()
      return respond(to: arrival)
    }
    let (members, other) = gather(group, from: arrival)
    if other != nil { endPolling() }
    if members.count == 1 { respond(to: arrival) } else { respond(to: members) }
    // If this worker has waited, still without a permit: those of the others may not be free for long.
    if let other { respond(to: other) }
  }

  /// Collects requests of `group` until no other is ready, one of another group is, or there are enough.
  private func gather(
    _ group: String, from first: Arrival
  ) -> (members: [Arrival], other: Arrival?) {
    var members = [first]
    for _ in 1..<Handler.groupLimit {
      guard let descriptor = server.poller.wait(timeout: 0) else { break }
      guard let arrival = handle(descriptor) else { continue }
      guard handler.group(arrival.request) == group else { return (members, arrival) }
      members.append(arrival)
    }
    return (members, nil)
  }

  private func respond(to arrival: Arrival) {
    send(handler.respond(arrival.request), to: arrival)
  }

  private func respond(to members: [Arrival]) {
    let responses = handler.respondTogether(members.map(\.request))
    precondition(responses.count == members.count, "one response for each request")
    for (member, response) in zip(members, responses) { send(response, to: member) }
  }

  /// Sends `response`, and polls the connection if it stays open.
  private func send(_ response: Response, to arrival: Arrival) {
    let isOpen = arrival.exchange.send(
      response, to: arrival.request.method, keep: server.phase < .closing)
    exchanges.append(arrival.exchange)
    guard isOpen else { return server.connectionEnded() }
    poll(arrival.connection, isPolled: arrival.isPolled)
  }
}
