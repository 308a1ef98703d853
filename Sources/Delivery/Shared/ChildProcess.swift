import Base
import Glibc

/// Child process in its own process group, with its standard input in memory. Its output goes to
/// our output or to /dev/null.
///
/// The input is a file without a name, not a pipe: the shared file offset tells how much the
/// program has read, and a program that does not read blocks nothing.
struct ChildProcess: ~Copyable {
  enum Ending {
    case exited(CInt)
    case signalled(CInt)
    /// The program took too long and was killed, with its own child processes.
    case overdue
  }

  private let process: pid_t
  private let input: CInt

  /// Starts `words[0]`, looked up in PATH (`posix_spawnp`), with `bytes` as its standard input.
  init?(_ words: [String], input bytes: [UInt8], isSilent: Bool = false) {
    guard !words.isEmpty, let input = Self.memory(holding: bytes) else { return nil }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    posix_spawn_file_actions_adddup2(&actions, input, 0)
    if isSilent {
      posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
      posix_spawn_file_actions_adddup2(&actions, 1, 2)
    }
    defer { posix_spawn_file_actions_destroy(&actions) }
    var attributes = childAttributes()
    defer { posix_spawnattr_destroy(&attributes) }
    var arguments = words.map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    var environment = childEnvironment().map { strdup($0) } + [nil]
    defer { for variable in environment { free(variable) } }
    var process = pid_t()
    guard posix_spawnp(&process, words[0], &actions, &attributes, &arguments, &environment) == 0
    else {
      close(input)
      return nil
    }
    self.process = process
    self.input = input
  }

  deinit { close(input) }

  /// Number of bytes that the program has read from its input.
  var readCount: Int { Int(lseek(input, 0, SEEK_CUR)) }

  /// Makes an unnamed file with `bytes` in memory, positioned at its start (`shm_open`).
  private static func memory(holding bytes: [UInt8]) -> CInt? {
    let name = "/switchboard-\(getpid())-\(UInt64.random(in: 0...(.max)))"
    let file = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0o600)
    guard file >= 0 else { return nil }
    shm_unlink(name)
    guard Glibc.write(file, bytes, bytes.count) == bytes.count, lseek(file, 0, SEEK_SET) == 0 else {
      close(file)
      return nil
    }
    return file
  }

  /// Waits for the end. Kills the program and its child processes at `limit`.
  ///
  /// - Parameter stopping: when it is set, the program has five seconds left.
  func wait(atMost limit: Duration, stopping: Flag? = nil, clock: LimitClock = .system) -> Ending {
    var deadline = clock.now() + limit
    var isStopping = false
    var status: CInt = 0
    while true {
      let ended = waitpid(process, &status, WNOHANG)
      if ended == process { break }
      if !isStopping, stopping?.isSet == true {
        isStopping = true
        deadline = min(deadline, clock.now() + .seconds(5))
      }
      if clock.now() >= deadline {
        kill(-process, SIGKILL)
        waitAfterKill()
        return .overdue
      }
      usleep(5_000)
    }
    let signal = status & 0x7f
    return signal == 0 ? .exited(status >> 8 & 0xff) : .signalled(signal)
  }
}

extension ChildProcess {
  /// Reaps a killed program. Gives up after a second in which this process ran, because the kernel may block the
  /// program, for example in a file system that does not answer.
  private func waitAfterKill() {
    for _ in 0..<1000 {
      if waitpid(process, nil, WNOHANG) != 0 { return }
      usleep(1_000)
    }
  }
}

/// Attributes for child processes: no blocked signals, and the default action for SIGPIPE, because
/// our own signal settings are not meant for them; and a process group, so that the program and its
/// child processes are killed together (`posix_spawnattr_setpgroup`).
private func childAttributes() -> posix_spawnattr_t {
  var attributes = posix_spawnattr_t()
  posix_spawnattr_init(&attributes)
  var signals = sigset_t()
  sigemptyset(&signals)
  posix_spawnattr_setsigmask(&attributes, &signals)
  sigaddset(&signals, SIGPIPE)
  posix_spawnattr_setsigdefault(&attributes, &signals)
  posix_spawnattr_setflags(
    &attributes,
    CShort(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))
  return attributes
}

/// Whether `program` can be executed. Looks it up in PATH if it holds no slash, like
/// `posix_spawnp`.
func isExecutable(_ program: String) -> Bool {
  if program.contains("/") { return access(program, X_OK) == 0 }
  let path = getenv("PATH").map { String(cString: $0) } ?? ""
  return path.split(separator: ":").contains { access("\($0)/\(program)", X_OK) == 0 }
}
