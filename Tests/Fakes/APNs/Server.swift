import ArgumentParser
import Base
import Glibc

/// The listener and its connections: one thread, one `poll`.
final class Server {
  let port: UInt16
  var rules: Rules
  let record: Record?
  /// Requests so far, over all connections.
  var requestCount = 0

  private let listener: CInt
  private let tls: ServerTLS
  private var connections: [CInt: PushConnection] = [:]
  private var connectionCount = 0

  init(port: UInt16, rules: Rules, record: Record?, tls: ServerTLS) throws {
    self.rules = rules
    self.record = record
    self.tls = tls
    let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    let listener = socket(AF_INET, type, 0)
    self.listener = listener
    var isOn: CInt = 1
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &isOn, socklen_t(MemoryLayout<CInt>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, size) == 0 && listen(listener, 128) == 0
          && getsockname(listener, $0, &size) == 0
      }
    }
    guard isListening else { throw ValidationError("port \(port) cannot be used") }
    self.port = UInt16(bigEndian: address.sin_port)
  }

  func run(untilInputEnds: Bool) {
    signal(SIGPIPE, SIG_IGN)
    let stop = stopDescriptor()
    while true {
      let descriptors = Array(connections.keys)
      var polled = [listener, stop, untilInputEnds ? 0 : -1].map {
        pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
      }
      polled += descriptors.map {
        let wantsWriting = connections[$0]!.wantsWriting
        return pollfd(fd: $0, events: Int16(wantsWriting ? POLLIN | POLLOUT : POLLIN), revents: 0)
      }
      if poll(&polled, nfds_t(polled.count), 0) == 0 {
        record?.flush()
        poll(&polled, nfds_t(polled.count), timeout())
      }
      if polled[1].revents != 0 || polled[2].revents != 0 && isInputAtEnd() { return }
      if polled[0].revents != 0 { acceptAll() }
      for (index, descriptor) in descriptors.enumerated() {
        guard let connection = connections[descriptor] else { continue }
        if polled[3 + index].revents != 0 || connection.hasLateAnswer {
          if !connection.proceed() { connections[descriptor] = nil }
        }
      }
      record?.flushIfLarge()
    }
  }

  private func timeout() -> CInt {
    let due = connections.values.compactMap(\.nextAnswerAt).min()
    guard let due else { return -1 }
    return CInt((max(.zero, due - .now) / .milliseconds(1)).rounded(.up))
  }

  private func acceptAll() {
    while case let descriptor = accept(listener, nil, nil), descriptor >= 0 {
      _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
      _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
      var isOn: CInt = 1
      setsockopt(
        descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, socklen_t(MemoryLayout<CInt>.size))
      connectionCount += 1
      guard rules.faults.speaksTLS, connectionCount <= rules.faults.connections else {
        close(descriptor)
        continue
      }
      connections[descriptor] = PushConnection(
        descriptor, number: connectionCount, tls: tls, server: self)
    }
  }

  private func isInputAtEnd() -> Bool {
    var byte: UInt8 = 0
    return read(0, &byte, 1) == 0
  }
}

private nonisolated(unsafe) var stopWriter: CInt = -1

/// Readable once SIGTERM or SIGINT has come.
private func stopDescriptor() -> CInt {
  var ends: [CInt] = [0, 0]
  precondition(pipe(&ends) == 0, "no pipe")
  stopWriter = ends[1]
  for number in [SIGTERM, SIGINT] {
    signal(number) { _ in write(stopWriter, "x", 1) }
  }
  return ends[0]
}
