import Foundation
import Support
import Testing

/// The ways to break a program of a site.
extension FaultSite {
  /// Kills a program, and prevents its restart until ``revive(_:)``.
  func end(_ program: String) throws {
    Support.freeze(try #require(site.keeper(of: program)))
    kill(try #require(site.pid(of: program)), SIGKILL)
  }

  func revive(_ program: String) throws {
    kill(try #require(site.keeper(of: program)), SIGCONT)
  }

  func freeze(_ program: String) throws { Support.freeze(try #require(site.pid(of: program))) }

  func thaw(_ program: String) throws { kill(try #require(site.pid(of: program)), SIGCONT) }

  /// Restarts a program with `words` before or `more` after its command line; without both, as
  /// before.
  func restart(_ program: String, after words: String = "", before more: String = "") throws {
    let file = "\(site.state)/services/\(program)/run"
    let original = "\(folder)/\(program).run"
    if !FileManager.default.fileExists(atPath: original) {
      try FileManager.default.copyItem(atPath: file, toPath: original)
    }
    let text = try String(contentsOfFile: original, encoding: .utf8).trimmed
    // Writes the same file, because runsv must find it and its mode must stay.
    let changed = text.replacing("\nexec ", with: "\nexec \(words) ") + " \(more)\n"
    let handle = try #require(FileHandle(forWritingAtPath: file))
    try handle.truncate(atOffset: 0)
    try handle.write(contentsOf: Data(changed.utf8))
    try handle.close()
    try restartAsItIs(program)
  }

  /// Ends a program, and waits until the old process has ended and a new one runs.
  func restartAsItIs(_ program: String) throws {
    let ended = try #require(site.pid(of: program))
    kill(ended, SIGTERM)
    wait(for: "another process of \(program)") {
      site.pid(of: program) != ended && kill(ended, 0) != 0
    }
  }

  /// Replaces a file of the site's secrets, or restores it.
  func replaceSecret(_ name: String, with text: String?) throws {
    let (file, original) = ("\(site.state)/secrets/\(name)", "\(folder)/original-\(name)")
    let files = FileManager.default
    if !files.fileExists(atPath: original) { try files.copyItem(atPath: file, toPath: original) }
    let old = try String(contentsOfFile: original, encoding: .utf8)
    try writeSecret(text ?? old, to: file)
  }

  /// Writes a file that only its owner can read.
  func writeSecret(_ text: String, to file: String) throws {
    try text.write(toFile: file, atomically: true, encoding: .utf8)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
  }

  /// Sets the behavior of the mail command: `fail`, `hang`, or any other word for success.
  func mailCommand(_ mode: String) throws {
    try mode.write(toFile: "\(folder)/mode", atomically: true, encoding: .utf8)
  }

  /// Sets the fault of the fake in the folder `name`; nil removes it.
  func setFault(of name: String, in file: String, _ fault: String?) throws {
    let path = "\(site.state)/\(name)/\(file)"
    if let fault {
      try fault.write(toFile: path, atomically: true, encoding: .utf8)
    } else {
      try FileManager.default.removeItem(atPath: path)
    }
  }

  /// Makes a mail command that works until ``mailCommand(_:)`` changes it.
  ///
  /// - Returns: the command's folder.
  static func makeMailCommand() throws -> String {
    let folder = makeTemporaryFolder()
    try FileManager.default.createDirectory(
      atPath: "\(folder)/mails", withIntermediateDirectories: false)
    let script = """
      #!/bin/sh
      cd \(folder) || exit 75
      case $(cat mode) in
        fail) exit 75 ;;
        hang) exec sleep 600 ;;
      esac
      cat >mails/$$ && mv mails/$$ "mails/$(date +%s.%N).$$.eml"
      """
    try "".write(toFile: "\(folder)/mode", atomically: true, encoding: .utf8)
    try writeScript(script, to: "\(folder)/mail")
    return folder
  }
}

/// The words before a command that change its clock. They do not change durations.
func clock(_ offset: String) throws -> String {
  let libraries = try FileManager.default.contentsOfDirectory(atPath: "/usr/lib").map {
    "/usr/lib/\($0)/faketime/libfaketimeMT.so.1"
  }
  let library = try #require(
    libraries.first { FileManager.default.fileExists(atPath: $0) }, "install libfaketime")
  return "env LD_PRELOAD=\(library) FAKETIME=\(offset) FAKETIME_DONT_FAKE_MONOTONIC=1"
}
