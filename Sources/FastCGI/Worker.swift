import CFastCGI
import Glibc
import HTTP

/// One thread of a ``Server``: waits for a readable connection, reads a request from it, answers.
///
/// Confined to its thread.
final class Worker {
  let server: Server
  private let handler: (Request) -> Response
  private let exchange = Exchange()
  /// The request in hand has given this thread's permit away.
  private var isWaiting = false
  /// The listener is to be armed again after a pause, because there was no descriptor or memory.
  private var isBackingOff = false

  private static let backOffMilliseconds: CInt = 100
  /// How long a half-sent request or a response that is not read may hold a thread.
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
  }

  /// Serves until the server stops.
  func run() {
    pthread_setspecific(Self.key, Unmanaged.passUnretained(self).toOpaque())
    server.permits.take()
    while server.phase < .stopped {
      let event = server.poller.wait(timeout: isBackingOff ? Self.backOffMilliseconds : -1)
      if isBackingOff { armListener() }
      if let event { handle(event) }
      if isWaiting { endWaiting() }
    }
    server.permits.give()
    pthread_setspecific(Self.key, nil)
  }

  /// Does ``Server/beginWaiting()`` on this thread.
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

  private func handle(_ event: Poller.Event) {
    switch event.descriptor {
    case server.listener.descriptor: acceptConnection()
    case server.stop.descriptor: break
    case server.pulse.descriptor: reportAlive()
    case let connection where event.isHangUp && peek(connection) != .readable:
      close(connection)
      server.connectionEnded()
    case let connection:
      serve(connection, isPolled: true)
    }
  }

  private func reportAlive() {
    server.pulse.clear()
    server.report(.alive)
    server.poller.rearm(server.pulse.descriptor)
  }

  // MARK: Accepting

  private func acceptConnection() {
    // Counted first: the supervisor either waits for it, or is seen to drain.
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
    // As a rule the request is there already. If not, no thread may wait for it.
    switch peek(connection) {
    case .readable: serve(connection, isPolled: false)
    case .silent where server.poller.add(connection): break
    case .silent, .ended:
      close(connection)
      server.connectionEnded()
    }
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
      // Another process took it (EAGAIN), or the peer has gone (ECONNABORTED, network errors).
      armListener()
    }
  }

  private enum Readiness { case readable, silent, ended }

  private func peek(_ connection: CInt) -> Readiness {
    var byte: UInt8 = 0
    switch recv(connection, &byte, 1, CInt(MSG_PEEK | MSG_DONTWAIT)) {
    case 1: return .readable
    case -1 where errno == EAGAIN: return .silent
    default: return .ended
    }
  }

  // MARK: Serving

  /// Serves one request from `connection`, and puts it back to be polled if it is kept.
  private func serve(_ connection: CInt, isPolled: Bool) {
    guard let request = exchange.receive(from: connection, bodyLimit: server.bodyLimit) else {
      server.log.notice("connection dropped: no request")
      return server.connectionEnded()
    }
    let response = handler(request)
    let keep = server.phase < .closing
    guard exchange.send(response, to: request.method, keep: keep) else {
      return server.connectionEnded()
    }
    if isPolled {
      server.poller.rearm(connection)
    } else if !server.poller.add(connection) {
      close(connection)
      server.connectionEnded()
    }
  }
}
