package import Foundation

/// A program that can be restarted. It is killed, and its folder removed, when this object is
/// released or this process ends for any reason.
final class GuardedProgram: @unchecked Sendable {
  private let shell: pid_t
  /// The shell waits for the end of this handle, which only this process holds open.
  private let lifeline: FileHandle
  private var pid: pid_t?

  init(_ name: String, _ arguments: [String], folder: String) {
    // SIGHUP arrives if this process ends while the program is stopped: the group is then orphaned.
    let script = """
      trap '' PIPE; trap : HUP INT TERM
      folder=$1; shift
      while read -r word; do
        if [ "$word" = start ]; then "$@" & server=$!; echo $server
        else wait; server=; echo ended; fi
      done
      [ -z "$server" ] || kill -9 $server
      wait; rm -rf "$folder"
      """
    let arguments = ["-c", script, "sh", folder, path(of: name)] + arguments
    (shell, lifeline) = spawn(path(of: "sh"), arguments)
  }

  deinit {
    try? lifeline.close()
    _ = awaitStatus(of: shell)
  }

  func start() {
    guard pid == nil else { return recordIssue("the program runs already") }
    pid = pid_t(tell("start"))!
  }

  /// False if the program has ended by itself, too.
  var isRunning: Bool {
    guard let pid, let stat = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
    else { return false }
    return !stat.contains(") Z ")
  }

  func signal(_ signal: Int32) {
    if let pid { kill(pid, signal) }
  }

  func freeze() {
    if let pid { Support.freeze(pid) }
  }

  /// Waits for the end of the process, whatever its cause.
  func awaitEnd() {
    guard pid != nil else { return }
    _ = tell("wait")
    pid = nil
  }

  private func tell(_ word: String) -> String {
    lifeline.write(Data("\(word)\n".utf8))
    let answer = String(decoding: lifeline.availableData, as: UTF8.self)
    return String(answer.dropLast())
  }
}

/// Stops a process and waits until each of its threads has stopped.
package func freeze(_ pid: pid_t) {
  kill(pid, SIGSTOP)
  let tasks = "/proc/\(pid)/task"
  while true {
    let states = (try? FileManager.default.contentsOfDirectory(atPath: tasks))?.map {
      try? String(contentsOfFile: "\(tasks)/\($0)/status", encoding: .utf8)
    }
    guard let states, !states.allSatisfy({ $0?.contains("State:\tT") != false }) else { return }
  }
}

/// Runs a command to its end and returns its output.
@discardableResult
func runCommand(_ name: String, _ arguments: [String], input: String = "") -> String {
  let (status, printed) = tryCommand(name, arguments, input: input)
  precondition(
    status == 0,
    "\(name) failed with status \(status): \(arguments.joined(separator: " ")) \(input.prefix(300))"
  )
  return printed
}

/// Runs a command to its end.
///
/// - Returns: the status as `waitpid` has it, and the output.
func tryCommand(
  _ name: String, _ arguments: [String], input: String
) -> (status: Int32, output: String) {
  let (pid, conversation) = spawn(path(of: name), arguments)
  conversation.write(Data(input.utf8))
  shutdown(conversation.fileDescriptor, Int32(SHUT_WR))
  let printed = conversation.readDataToEndOfFile()
  return (awaitStatus(of: pid), String(decoding: printed, as: UTF8.self))
}

/// Starts a process whose standard input and output are the other end of the returned handle.
///
/// Does not use `Foundation.Process`: its child inherits a worker thread's signal mask, which
/// blocks nearly all signals (a shell never learns that its child has ended), and it waits in 50 ms
/// steps.
package func spawn(_ path: String, _ arguments: [String]) -> (pid_t, FileHandle) {
  var ends: [Int32] = [-1, -1]
  let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
  precondition(socketpair(AF_UNIX, type, 0, &ends) == 0, "no socket pair")
  var actions = posix_spawn_file_actions_t()
  posix_spawn_file_actions_init(&actions)
  defer { posix_spawn_file_actions_destroy(&actions) }
  posix_spawn_file_actions_adddup2(&actions, ends[1], 0)
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
  for inherited in 3..<min(getdtablesize(), 1024) {
    posix_spawn_file_actions_addclose(&actions, inherited)
  }
  var attributes = posix_spawnattr_t()
  posix_spawnattr_init(&attributes)
  defer { posix_spawnattr_destroy(&attributes) }
  var none = sigset_t()
  sigemptyset(&none)
  posix_spawnattr_setsigmask(&attributes, &none)
  // A shell that runs these tests in the background makes its children ignore SIGINT and SIGQUIT,
  // and a shell cannot trap a signal that was ignored when it started.
  var ignored = sigset_t()
  sigemptyset(&ignored)
  sigaddset(&ignored, SIGINT)
  sigaddset(&ignored, SIGQUIT)
  posix_spawnattr_setsigdefault(&attributes, &ignored)
  // Its own process group: an interrupt from the terminal does not end the guarding shell.
  posix_spawnattr_setflags(
    &attributes,
    Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))
  var words = ([path] + arguments).map { strdup($0) } + [nil]
  defer { for word in words { free(word) } }
  var pid: pid_t = 0
  let status = posix_spawn(&pid, path, &actions, &attributes, &words, environ)
  precondition(status == 0, "\(path) does not start")
  close(ends[1])
  return (pid, FileHandle(fileDescriptor: ends[0], closeOnDealloc: true))
}

package func awaitStatus(of pid: pid_t) -> Int32 {
  var status: Int32 = 0
  while waitpid(pid, &status, 0) < 0 && errno == EINTR {}
  return status
}

/// Makes a folder with a short path, because the path of a unix socket holds 107 bytes.
package func makeTemporaryFolder(named name: String = "switchboard") -> String {
  var path = Array("/tmp/\(name)-XXXXXX".utf8CString)
  precondition(mkdtemp(&path) != nil, "no temporary folder")
  return path.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
}

/// The path of a command. Daemons are in folders that not every PATH has.
func path(of name: String) -> String {
  let folders = ["/usr/sbin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/local/bin"]
  let paths = folders.map { "\($0)/\(name)" }
  guard let path = paths.first(where: { access($0, X_OK) == 0 }) else {
    fatalError("\(name) is not installed")
  }
  return path
}
