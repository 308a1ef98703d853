import Glibc

/// A program that reads its standard input; its output goes where ours goes.
struct ChildProcess: ~Copyable {
  enum Ending {
    case exited(CInt)
    case signalled(CInt)
    /// It took too long and was killed.
    case overdue
  }

  private let process: pid_t
  private let input: CInt

  /// Starts `words[0]`, looked up in PATH (`posix_spawnp`).
  init?(_ words: [String]) {
    guard !words.isEmpty else { return nil }
    var pipe: [CInt] = [0, 0]
    guard Glibc.pipe(&pipe) == 0 else { return nil }
    for end in pipe { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    posix_spawn_file_actions_adddup2(&actions, pipe[0], 0)
    defer { posix_spawn_file_actions_destroy(&actions) }
    var attributes = Self.plainSignals()
    defer { posix_spawnattr_destroy(&attributes) }
    var arguments = words.map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    var process = pid_t()
    let failure = posix_spawnp(&process, words[0], &actions, &attributes, &arguments, environ)
    close(pipe[0])
    guard failure == 0 else {
      close(pipe[1])
      return nil
    }
    self.process = process
    input = pipe[1]
  }

  /// No signal blocked, SIGPIPE as by default: what we ignore or wait for is not the program's
  /// business.
  private static func plainSignals() -> posix_spawnattr_t {
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    sigaddset(&signals, SIGPIPE)
    posix_spawnattr_setsigdefault(&attributes, &signals)
    let flags = CShort(POSIX_SPAWN_SETSIGMASK) | CShort(POSIX_SPAWN_SETSIGDEF)
    posix_spawnattr_setflags(&attributes, flags)
    return attributes
  }

  /// Writes all of `bytes` and ends the input.
  ///
  /// - Returns: false where the program did not read them all. SIGPIPE must be ignored by the
  ///   process.
  func write(_ bytes: [UInt8]) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(input, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { break }
      rest = rest.dropFirst(count)
    }
    close(input)
    return rest.isEmpty
  }

  /// Waits for the end; kills the program at `limit`.
  consuming func wait(atMost limit: Duration) -> Ending {
    let deadline = ContinuousClock.now + limit
    var status: CInt = 0
    while true {
      let ended = waitpid(process, &status, WNOHANG)
      if ended == process { break }
      if ContinuousClock.now >= deadline {
        kill(process, SIGKILL)
        waitpid(process, &status, 0)
        return .overdue
      }
      usleep(5_000)
    }
    let signal = status & 0x7f
    return signal == 0 ? .exited(status >> 8 & 0xff) : .signalled(signal)
  }
}
