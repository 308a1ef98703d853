import Foundation
import Support
import Testing

/// The script that tells the administrator by mail that a unit has failed.
@Suite struct FailureMailTests {
  /// A folder with a mail command and a journal.
  private struct Script {
    let folder: URL

    func text(_ name: String) throws -> String {
      try String(contentsOf: folder.appending(path: name), encoding: .utf8)
    }

    /// Runs the script for a unit, and removes the mail of an earlier run.
    ///
    /// - Returns: whether there is a mail.
    func sends(about unit: String, _ variables: [String] = []) throws -> Bool {
      let mail = folder.appending(path: "mail").path()
      try? FileManager.default.removeItem(atPath: mail)  // There may be none.
      let script = projectFolder.appending(path: "Sources/companion/failure-mail").path()
      let all =
        variables + [
          "PATH=\(folder.path()):\(ProcessInfo.processInfo.environment["PATH"]!)",
          "RUNTIME_DIRECTORY=\(folder.path())", "SWITCHBOARD_ADMINISTRATOR=admin@example.org",
          "SWITCHBOARD_MAIL_COMMAND=\(folder.appending(path: "mailer").path()) -t -i",
        ]
      let outcome = runProgram("env", ["-i"] + all + ["bash", script, unit])
      #expect(outcome.status == 0, "\(outcome.output)")
      return FileManager.default.fileExists(atPath: mail)
    }
  }

  private func withScript(_ body: (Script) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: folder) }  // It is in the temporary folder.
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    func add(_ name: String, _ script: String) throws {
      try writeScript("#!/bin/sh\n\(script)\n", to: folder.appending(path: name).path())
    }
    try add("journalctl", "echo the last lines")
    try add("mailer", #"cd "$(dirname "$0")"; cat >mail; echo "$*" >words; env >variables"#)
    try body(Script(folder: folder))
  }

  @Test func theMailCommandGetsTheMessageAndNoSecret() throws {
    try withScript { script throws in
      let secrets = variablesWithSecrets.map { "\($0)=secret" }
      let variables =
        secrets + [
          "https_proxy=http://user:secret@proxy.example", "http_proxy=http://proxy.example",
          "MAILER_ACCOUNT=site",
        ]
      #expect(try script.sends(about: "a.service", variables))
      let mail = try script.text("mail")
      #expect(mail.contains("To: admin@example.org\n"))
      #expect(mail.contains("a.service failed on ") && mail.contains("\nthe last lines\n"))
      #expect(try script.text("words") == "-t -i\n")
      let seen = try script.text("variables")
      #expect(!seen.contains("secret"))
      #expect(seen.contains("MAILER_ACCOUNT=site\n"))
      #expect(seen.contains("http_proxy=http://proxy.example\n"))
    }
  }

  @Test func eachUnitHasAtMostOneMailInAnHour() throws {
    try withScript { script throws in
      #expect(try script.sends(about: "a.service"))
      #expect(try !script.sends(about: "a.service"))
      #expect(try script.sends(about: "b.service"))
      touch("2 hours ago", script)
      #expect(try script.sends(about: "a.service"))
    }
  }

  @Test func aMailOfAClockThatWasAheadHoldsBackNone() throws {
    try withScript { script throws in
      #expect(try script.sends(about: "a.service"))
      touch("tomorrow", script)
      #expect(try script.sends(about: "a.service"))
      #expect(try !script.sends(about: "a.service"))
    }
  }

  /// Sets the time of the last mail about `a.service`.
  private func touch(_ time: String, _ script: Script) {
    let file = script.folder.appending(path: "a.service").path()
    let outcome = runProgram("touch", ["-d", time, file])
    #expect(outcome.status == 0, "\(outcome.output)")
  }
}
