import Foundation
package import MariaDB
import Synchronization

/// A unix socket in front of a MariaDB server that can refuse a command or cut the connection
/// exactly before or after the server has executed it.
package final class MariaDBProxy: Sendable {
  /// A command on its way to the server. The value is its SQL, also for a prepared statement.
  package enum Command: Sendable, Equatable {
    case query(String)
    case prepare(String)
    case execute(String)
  }

  package enum Action: Sendable {
    case pass
    /// The server never sees the command; the client gets this error. A COMMIT becomes a ROLLBACK.
    case refuse(UInt16)
    /// The server never sees the command; both connections are closed.
    case cutBefore
    /// The server executes the command; both connections are closed instead of the answer.
    case cutAfter
    /// The server gets this SQL instead of a statement to prepare.
    case rewrite(String)
    /// The server rolls back before it executes the command, and the client does not learn of it. A
    /// Galera node does this if another node aborts the transaction during a PREPARE.
    case loseTransaction
  }

  /// Settings to connect through the proxy.
  package let settings: ConnectionSettings
  private static let count = Atomic(0)
  private let server: String
  private let decide: @Sendable (Command) -> Action
  private let acceptor: Acceptor

  /// - Parameter decide: called, on any thread, for every command after the connection is set up.
  package init(
    _ settings: ConnectionSettings, _ decide: @escaping @Sendable (Command) -> Action
  ) {
    server = settings.socket!
    self.decide = decide
    var settings = settings
    // The socket is in the server's folder and is removed with it.
    let socket = "\(server)-\(Self.count.wrappingAdd(1, ordering: .relaxed).newValue)"
    settings.socket = socket
    self.settings = settings
    let (listener, server) = (unixSocket(), server)
    acceptor = Acceptor(listener)
    let status = withAddress(of: socket) { bind(listener, $0, $1) }
    precondition(status == 0 && listen(listener, 64) == 0, "cannot listen")
    acceptor.begin { client in ProxiedConnection(client, server: server, decide).run() }
  }

  deinit {
    acceptor.end()
    unlink(settings.socket!)
  }
}

/// A client's connection and ours to the server, on one thread.
private struct ProxiedConnection {
  private let client: Int32
  private let server = unixSocket()
  private let decide: (MariaDBProxy.Command) -> MariaDBProxy.Action
  private var pending: [UInt8] = []
  private var prepared: [UInt32: String] = [:]
  private var preparing: String?
  private var isSetUp = false

  init(
    _ client: Int32, server path: String,
    _ decide: @escaping (MariaDBProxy.Command) -> MariaDBProxy.Action
  ) {
    self.client = client
    self.decide = decide
    _ = withAddress(of: path) { connect(server, $0, $1) }
  }

  consuming func run() {
    var connection = self
    while connection.step() {}
    close(connection.client)
    close(connection.server)
  }

  private mutating func step() -> Bool {
    var sockets = [
      pollfd(fd: client, events: Int16(POLLIN), revents: 0),
      pollfd(fd: server, events: Int16(POLLIN), revents: 0),
    ]
    guard poll(&sockets, 2, -1) > 0 else { return false }
    if sockets[1].revents != 0 {
      guard let answer = receive(server) else { return false }
      note(answer)
      return transmit(answer, to: client)
    }
    guard let bytes = receive(client) else { return false }
    pending += bytes
    while let packet = nextPacket() {
      guard forward(packet) else { return false }
    }
    return true
  }

  /// Takes one packet: length (3 bytes, little endian), sequence number, content.
  private mutating func nextPacket() -> [UInt8]? {
    guard pending.count >= 4 else { return nil }
    let length = 4 + Int(pending[0]) + Int(pending[1]) << 8 + Int(pending[2]) << 16
    guard pending.count >= length else { return nil }
    defer { pending.removeFirst(length) }
    return Array(pending[..<length])
  }

  private mutating func forward(_ packet: [UInt8]) -> Bool {
    guard let command = command(packet) else { return transmit(packet, to: server) }
    switch decide(command) {
    case .pass:
      if case .prepare(let sql) = command { preparing = sql }
      return transmit(packet, to: server)
    case .rewrite(let sql):
      if case .prepare(let original) = command { preparing = original }
      let content = [packet[4]] + Array(sql.utf8)
      let size = content.count
      let length = (0..<3).map { UInt8(size >> (8 * $0) & 0xFF) }
      return transmit(length + [0] + content, to: server)
    case .loseTransaction:
      if case .prepare(let sql) = command { preparing = sql }
      return rollBack() && transmit(packet, to: server)
    case .refuse(let code):
      guard command != .query("COMMIT") || rollBack() else { return false }
      return transmit(refusal(code), to: client)
    case .cutBefore:
      return false
    case .cutAfter:
      _ = transmit(packet, to: server) && receive(server) != nil
      return false
    }
  }

  private func rollBack() -> Bool {
    transmit([9, 0, 0, 0, 3] + Array("ROLLBACK".utf8), to: server) && receive(server) != nil
  }

  /// The command in `packet`; nil if the packet belongs to connecting (its sequence number is not
  /// 0, or it sets up the session) or closes something.
  private mutating func command(_ packet: [UInt8]) -> MariaDBProxy.Command? {
    guard packet.count > 5, packet[3] == 0 else { return nil }
    let text = String(decoding: packet[5...], as: UTF8.self)
    switch packet[4] {
    case 0x03 where isSetUp: return .query(text)
    case 0x03: isSetUp = text.hasPrefix("SET SESSION TRANSACTION")  // the last one of the set-up
    case 0x16: return .prepare(text)
    case 0x17: return .execute(prepared[number(packet, at: 5)] ?? "")
    default: break
    }
    return nil
  }

  /// Stores the number of the statement just prepared. It follows the status byte 0.
  private mutating func note(_ answer: [UInt8]) {
    guard let sql = preparing, answer.count >= 9 else { return }
    preparing = nil
    if answer[4] == 0 { prepared[number(answer, at: 5)] = sql }
  }

  private func number(_ bytes: [UInt8], at offset: Int) -> UInt32 {
    (0..<4).reduce(0) { $0 | UInt32(bytes[offset + $1]) << (8 * UInt32($1)) }
  }

  private func refusal(_ code: UInt16) -> [UInt8] {
    let content = [0xFF, UInt8(code & 0xFF), UInt8(code >> 8)] + Array("#HY000refused".utf8)
    return [UInt8(content.count), 0, 0, 1] + content
  }
}

private func unixSocket() -> Int32 {
  socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
}

/// The bytes that have arrived; nil at the end.
private func receive(_ socket: Int32) -> [UInt8]? {
  let bytes = [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, count in
    count = max(0, recv(socket, buffer.baseAddress, buffer.count, 0))
  }
  return bytes.isEmpty ? nil : bytes
}

private func transmit(_ bytes: [UInt8], to socket: Int32) -> Bool {
  var rest = bytes[...]
  while !rest.isEmpty {
    let sent = rest.withUnsafeBytes {
      send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
    }
    guard sent > 0 else { return false }
    rest = rest.dropFirst(sent)
  }
  return true
}
