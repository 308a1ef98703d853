import Glibc

extension Context {
  /// Wakes the companion by connecting to its socket. This is only a hint: the companion also looks for
  /// work by itself, so a failure here is not an error.
  func wakeCompanion() {
    guard let path = settings.wakeSocket else { return }
    let socket = Glibc.socket(
      AF_UNIX,
      CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue) | CInt(SOCK_NONBLOCK.rawValue), 0)
    guard socket >= 0 else { return }
    defer { close(socket) }
    _ = connectSocket(socket, to: path)
  }
}

/// Connects `socket` to the unix socket at `path`.
///
/// - Returns: True if the socket is now connected.
func connectSocket(_ socket: CInt, to path: String) -> Bool {
  var address = sockaddr_un()
  address.sun_family = sa_family_t(AF_UNIX)
  let fits = withUnsafeMutableBytes(of: &address.sun_path) { room in
    guard path.utf8.count < room.count else { return false }
    room.copyBytes(from: path.utf8)
    return true
  }
  guard fits else { return false }
  return withUnsafePointer(to: &address) { pointer in
    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      connect(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
    }
  }
}
