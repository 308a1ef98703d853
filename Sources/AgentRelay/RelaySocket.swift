import Glibc

/// Owned nonblocking socket of the relay.
final class RelaySocket {
  /// Result of reading.
  enum Received {
    case bytes([UInt8])
    case nothing, end
  }

  private static let chunk = 16 * 1024

  private var descriptor: CInt
  private let poller: SocketPoller
  private var watched: SocketPoller.Readiness?

  init(_ descriptor: CInt, poller: SocketPoller) {
    self.descriptor = descriptor
    self.poller = poller
  }

  deinit { close() }

  func close() {
    if descriptor >= 0 { Glibc.close(descriptor) }
    descriptor = -1
  }

  /// Sets the conditions that are reported; nil reports not even the end.
  func watch(_ readiness: SocketPoller.Readiness?, tag: UInt64) {
    poller.watch(descriptor, from: watched, to: readiness, tag: tag)
    watched = readiness
  }

  /// Error of the attempt to connect; 0 if the socket is connected.
  var connectError: CInt {
    var (error, size): (CInt, socklen_t) = (0, socklen_t(MemoryLayout<CInt>.size))
    getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size)
    return error
  }

  /// Whether bytes have arrived, or the other side has ended.
  var hasInput: Bool {
    var byte: UInt8 = 0
    return recv(descriptor, &byte, 1, CInt(MSG_PEEK)) >= 0 || errno != EAGAIN
  }

  func read() -> Received {
    withUnsafeTemporaryAllocation(byteCount: Self.chunk, alignment: 1) { room in
      let count = recv(descriptor, room.baseAddress, room.count, 0)
      if count > 0 { return .bytes(Array(room.prefix(count))) }
      return count < 0 && errno == EAGAIN ? .nothing : .end
    }
  }

  /// Sends as much of `pending` as the other side accepts, and keeps the rest in it.
  ///
  /// - Returns: false if the other side accepts nothing any more.
  func send(_ pending: inout [UInt8]) -> Bool {
    guard !pending.isEmpty else { return true }
    let sent = Glibc.send(descriptor, pending, pending.count, CInt(MSG_NOSIGNAL))
    if sent < 0 { return errno == EAGAIN }
    if sent == pending.count { pending = [] } else { pending.removeFirst(sent) }
    return true
  }

  /// Tells the other side that nothing more follows.
  func endOutput() { shutdown(descriptor, CInt(SHUT_WR)) }
}
