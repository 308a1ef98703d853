import Base
import Delivery
import Glibc

/// Pipeline of programs, as in a shell.
///
/// Keeps the standard error of each program for ``finish()``. SIGPIPE must be ignored.
struct Pipeline: ~Copyable {
  /// Input of the first program, or output of the last one.
  enum End {
    /// A pipe to ``write(_:)`` or from ``read(atMost:)``.
    case us
    /// An open file, which the caller closes.
    case file(CInt)
    case nothing
  }

  private var processes: [(name: String, process: pid_t, messages: CInt)] = []
  private var input: CInt = -1
  private var output: CInt = -1

  /// Starts `commands`, each looked up in PATH (`posix_spawnp`).
  ///
  /// - Throws: ``PipelineError/notStarted(_:)``
  init(_ commands: [[String]], from source: End = .nothing, to sink: End = .us) throws {
    let nothing = open("/dev/null", O_RDWR | O_CLOEXEC)
    var next: CInt
    switch source {
    case .us: (next, input) = makePipe()
    case .file(let file): next = copy(of: file)
    case .nothing: next = copy(of: nothing)
    }
    defer {
      close(next)
      close(nothing)
    }
    for (number, words) in commands.enumerated() {
      let reader = next
      let writer: CInt
      if number < commands.count - 1 {
        (next, writer) = makePipe()
      } else {
        switch sink {
        case .us: (output, writer) = makePipe()
        case .file(let file): writer = copy(of: file)
        case .nothing: writer = copy(of: nothing)
        }
        next = -1
      }
      defer {
        close(reader)
        close(writer)
      }
      try start(words, reading: reader, writing: writer)
    }
  }

  deinit {
    if input >= 0 { close(input) }
    if output >= 0 { close(output) }
    // The programs end, because our ends of their pipes are closed.
    for (_, process, messages) in processes {
      waitpid(process, nil, 0)
      close(messages)
    }
  }

  private mutating func start(_ words: [String], reading: CInt, writing: CInt) throws {
    let messages = try Self.unnamedFile()
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    // Copies the descriptors to numbers above 2 first: if our own standard input is closed, a pipe
    // may have number 0, 1 or 2.
    let ends = [reading, writing, messages].map(copy)
    defer { for end in ends { close(end) } }
    for (number, end) in ends.enumerated() {
      posix_spawn_file_actions_adddup2(&actions, end, CInt(number))
    }
    var attributes = childAttributes(inOwnGroup: false)
    defer { posix_spawnattr_destroy(&attributes) }
    var arguments = words.map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    var process = pid_t()
    guard posix_spawnp(&process, words[0], &actions, &attributes, &arguments, environ) == 0 else {
      close(messages)
      throw PipelineError.notStarted(words[0])
    }
    processes.append((words[0], process, messages))
  }

  /// Makes an unnamed file in memory (`shm_open`).
  private static func unnamedFile() throws -> CInt {
    let name = "/switchboard-\(getpid())-\(UInt64.random(in: 0...(.max)))"
    let file = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0o600)
    guard file >= 0 else { throw PipelineError.noMemory }
    shm_unlink(name)
    return file
  }

  /// Writes `bytes` to the first program.
  ///
  /// - Throws: ``PipelineError/endedEarly``; ``finish()`` then throws the cause.
  func write(_ bytes: [UInt8]) throws(PipelineError) {
    var written = 0
    while written < bytes.count {
      let count = bytes.withUnsafeBytes {
        Glibc.write(input, $0.baseAddress! + written, $0.count - written)
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw .endedEarly }
      written += count
    }
  }

  /// Ends the input of the first program.
  mutating func closeInput() {
    close(input)
    input = -1
  }

  /// Reads the next output of the last program. Returns fewer than `limit` bytes only at the end.
  func read(atMost limit: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: limit) { buffer, total in
      while total < limit {
        let count = Glibc.read(output, buffer.baseAddress! + total, limit - total)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return }
        total += count
      }
    }
  }

  /// Reads all output of the last program.
  func readToEnd() -> [UInt8] {
    var bytes: [UInt8] = []
    while case let more = read(atMost: 65_536), !more.isEmpty { bytes += more }
    return bytes
  }

  /// Closes our ends of the pipes, and waits until all programs have ended.
  ///
  /// - Throws: ``PipelineError/failed(program:message:)`` for the first program that failed.
  ///   Ignores programs that SIGPIPE ended, because a later program failed then.
  mutating func finish() throws(PipelineError) {
    if input >= 0 { close(input) }
    if output >= 0 { close(output) }
    (input, output) = (-1, -1)
    var failure: PipelineError?
    for (name, process, messages) in processes {
      var status: CInt = 0
      while waitpid(process, &status, 0) < 0, errno == EINTR {}
      let isPeersFault = status & 0x7f == SIGPIPE
      if status != 0, failure == nil, !isPeersFault {
        failure = .failed(program: name, message: Self.cause(in: messages))
      }
      close(messages)
    }
    processes = []
    if let failure { throw failure }
  }

  /// The error line of MariaDB's client, which prints the statement before it; for other programs
  /// the first line.
  private static func cause(in messages: CInt) -> String {
    func lines(from offset: off_t) -> [Substring] {
      let bytes = [UInt8](unsafeUninitializedCapacity: 4096) { buffer, count in
        count = max(0, pread(messages, buffer.baseAddress, buffer.count, offset))
      }
      return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    }
    let last = lines(from: max(0, lseek(messages, 0, SEEK_END) - 4096))
    let cause = last.first { $0.hasPrefix("ERROR ") } ?? lines(from: 0).first
    return String(cause ?? "no error message").printable
  }
}

enum PipelineError: Error, CustomStringConvertible {
  /// The program cannot be started, for example because it is not in PATH.
  case notStarted(String)
  /// `/dev/shm` cannot be written.
  case noMemory
  case failed(program: String, message: String)
  /// A program ended before it had read its input.
  case endedEarly

  var description: String {
    switch self {
    case .notStarted(let program): "\(program) cannot be started: install it."
    case .noMemory: "/dev/shm cannot be written: make room there."
    case .failed(let program, let message): "\(program) failed: \(message)"
    case .endedEarly: "A program ended before it had read everything."
    }
  }
}

/// Copies a descriptor to a number above 2. The copy is closed in child processes.
private func copy(of file: CInt) -> CInt { fcntl(file, F_DUPFD_CLOEXEC, 3) }
