package import Foundation

/// The folder of the built programs: `SWITCHBOARD_BIN`, otherwise the folder of the tests.
package let programFolder =
  ProcessInfo.processInfo.environment["SWITCHBOARD_BIN"].map { URL(filePath: $0) }
  ?? URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()

package func builtProgram(_ name: String) -> URL { programFolder.appending(path: name) }

/// Writes an executable script. Another program makes the file, because a file cannot be executed (ETXTBSY) as long as
/// a child of another thread has inherited the descriptor that wrote it.
package func writeScript(_ text: String, to path: String) throws {
  let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
  try text.write(to: file, atomically: true, encoding: .utf8)
  defer { try? FileManager.default.removeItem(at: file) }
  let outcome = runProgram("install", ["-D", "--mode=755", file.path(), path])
  guard outcome.status == 0 else { throw ProgramError(description: outcome.output) }
}

/// A program that prepares something for a test failed.
package struct ProgramError: Error, CustomStringConvertible {
  package let description: String
}

/// Runs a program to its end.
///
/// - Returns: its status, and its standard output and standard error.
package func runProgram(_ name: String, _ arguments: [String]) -> (status: Int32, output: String) {
  // A file instead of a pipe, because another thread's child could inherit the end of a pipe.
  let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
  precondition(FileManager.default.createFile(atPath: file.path(), contents: nil))
  defer { try? FileManager.default.removeItem(at: file) }
  let output = FileHandle(forWritingAtPath: file.path())
  let process = Process()
  process.executableURL = URL(filePath: "/usr/bin/env")
  process.arguments = [name] + arguments
  process.standardInput = FileHandle.nullDevice
  process.standardOutput = output
  process.standardError = output
  do { try process.run() } catch { return (127, "\(name): \(error)") }
  waiting(for: "the end of \(name)") { process.waitUntilExit() }
  let printed = FileManager.default.contents(atPath: file.path()) ?? Data()
  return (process.terminationStatus, String(decoding: printed, as: UTF8.self))
}

/// The contents of the QR codes in PNG or PGM pictures, in order.
package func qrContents(of pictures: [Data]) throws -> [String] {
  let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: folder) }
  let files = try pictures.enumerated().map { number, picture in
    let file = folder.appending(path: "\(1000 + number)")
    try picture.write(to: file)
    return file.path()
  }
  // Only QR codes: in 1 % of the pictures zbarimg also sees a bar code.
  let options = ["--quiet", "--raw", "--nodbus", "-Sdisable", "-Sqrcode.enable"]
  return runProgram("zbarimg", options + files).output.split(separator: "\n").map(String.init)
}
