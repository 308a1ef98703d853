import Glibc

/// The listening socket that another process handed to this one.
package enum InheritedSocket: Equatable {
  /// A stream socket that listens.
  case listening(descriptor: CInt)
  /// systemd announced a socket that does not listen.
  case notListening
  case none

  /// Returns the socket from systemd (descriptor 3, by `LISTEN_PID` and `LISTEN_FDS`;
  /// sd_listen_fds(3)), or else standard input, if it listens.
  ///
  /// Removes `LISTEN_PID`, `LISTEN_FDS` and `LISTEN_FDNAMES` from the environment: call it once,
  /// before any thread starts.
  package static func inherit() -> InheritedSocket {
    let isOurs = environmentNumber("LISTEN_PID") == getpid()
    let count = isOurs ? environmentNumber("LISTEN_FDS") ?? 0 : 0
    for name in ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"] { unsetenv(name) }
    let first: CInt = 3  // SD_LISTEN_FDS_START
    return choose(passed: count >= 1 ? first : nil, standardInput: STDIN_FILENO)
  }

  /// `passed`, which systemd announced, or else `standardInput` if it listens.
  static func choose(passed: CInt?, standardInput: CInt) -> InheritedSocket {
    if let passed {
      return isListening(passed) ? .listening(descriptor: passed) : .notListening
    }
    return isListening(standardInput) ? .listening(descriptor: standardInput) : .none
  }

  private static func environmentNumber(_ name: String) -> CInt? {
    getenv(name).flatMap { CInt(String(cString: $0)) }
  }

  private static func isListening(_ descriptor: CInt) -> Bool {
    var value: CInt = 0
    var length = socklen_t(MemoryLayout<CInt>.size)
    return getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &value, &length) == 0 && value != 0
  }
}
