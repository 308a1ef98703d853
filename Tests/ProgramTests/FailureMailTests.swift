import Foundation
import Support
import Testing

/// The script that tells the administrator by mail that a unit has failed.
@Suite struct FailureMailTests {
  @Test func theMailCommandGetsTheMessageAndNoSecret() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: folder) }  // It is in the temporary folder.
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    func add(_ name: String, _ script: String) throws {
      let file = folder.appending(path: name)
      try "#!/bin/sh\n\(script)\n".write(to: file, atomically: true, encoding: .utf8)
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: file.path())
    }
    try add("journalctl", "echo the last lines")
    try add("mailer", #"cd "$(dirname "$0")"; cat >mail; echo "$*" >words; env >variables"#)
    let secrets = variablesWithSecrets.map { "\($0)=secret" }
    let variables =
      secrets + [
        "PATH=\(folder.path()):\(ProcessInfo.processInfo.environment["PATH"]!)",
        "RUNTIME_DIRECTORY=\(folder.path())", "SWITCHBOARD_ADMINISTRATOR=admin@example.org",
        "SWITCHBOARD_MAIL_COMMAND=\(folder.appending(path: "mailer").path()) -t -i",
        "https_proxy=http://user:secret@proxy.example", "http_proxy=http://proxy.example",
        "MAILER_ACCOUNT=site",
      ]
    let script = projectFolder.appending(path: "Sources/companion/failure-mail").path()
    let outcome = runProgram("env", ["-i"] + variables + ["bash", script, "a.service"])
    #expect(outcome.status == 0, "\(outcome.output)")
    func text(_ name: String) throws -> String {
      try String(contentsOf: folder.appending(path: name), encoding: .utf8)
    }
    let mail = try text("mail")
    #expect(mail.contains("To: admin@example.org\n"))
    #expect(mail.contains("a.service failed on ") && mail.contains("\nthe last lines\n"))
    #expect(try text("words") == "-t -i\n")
    let seen = try text("variables")
    #expect(!seen.contains("secret"))
    #expect(seen.contains("MAILER_ACCOUNT=site\n"))
    #expect(seen.contains("http_proxy=http://proxy.example\n"))
  }
}
