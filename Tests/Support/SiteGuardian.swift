package import Foundation

/// Stops a site and removes its folder on request, or when this process ends without a request.
struct SiteGuardian {
  private let shell = Process()
  /// The shell waits for the end of this handle, which only this process holds open.
  private let lifeline: FileHandle

  init(of state: String) {
    let ends = makeLifeline()
    lifeline = ends.lifeline
    let script = #"trap "" INT TERM HUP; read -r _; "$1" --stop --state "$2"; rm -rf "$2""#
    shell.executableURL = URL(filePath: "/bin/sh")
    shell.arguments = ["-c", script, "sh", Site.script, state]
    shell.standardInput = ends.input
    do { try shell.run() } catch { fatalError("/bin/sh: \(error)") }
  }

  func end() {
    lifeline.write(Data("\n".utf8))
    shell.waitUntilExit()
  }
}

/// Returns the standard input of a program, and the handle whose end is the end of that input. Only this process holds
/// the handle, so the program learns that this process has ended, for any reason.
package func makeLifeline() -> (input: FileHandle, lifeline: FileHandle) {
  var ends: [Int32] = [-1, -1]
  let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
  precondition(socketpair(AF_UNIX, type, 0, &ends) == 0, "no socket pair")
  return (
    FileHandle(fileDescriptor: ends[0], closeOnDealloc: true),
    FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
  )
}
