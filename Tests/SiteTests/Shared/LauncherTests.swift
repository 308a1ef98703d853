import Foundation
import Support
import Testing

/// `switchboard`, which runs the companion's commands with the settings of the companion's unit.
@Suite struct LauncherTests {
  private static let folder = projectFolder.appending(path: "Sources/companion").path()

  /// The value that read_environment reads from a file.
  private func value(of name: String, in text: String) throws -> String {
    let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try Data(text.utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    let script = """
      set -euo pipefail
      . "$1/environment.sh"
      read_environment "$2"
      printf '[%s]' "${environment[$3]-no value}"
      """
    return Site.run(["bash", "-c", script, "bash", Self.folder, file.path(), name]).output
  }

  /// Lines with the variable A, and its value in brackets, in the format of systemd.exec(5), EnvironmentFile=.
  static let settings = [
    ("A=b", "[b]"), ("  A = b c \t", "[b c]"), ("A=", "[]"), ("A=b\nA=c", "[c]"),
    ("A=\"b \\\"c\\\" \\\\ \\$d\"", "[b \"c\" \\ $d]"), ("A='b \\ \"c\"'", "[b \\ \"c\"]"),
    ("A=b\\ c", "[b c]"), ("A=b\\\nc", "[bc]"), ("A=b=c", "[b=c]"), ("A=b # c", "[b # c]"),
    ("A=msmtp -t --host='x'", "[msmtp -t --host='x']"), ("A=b", "[b]"),
    ("# A=b", "[no value]"), ("; A=b", "[no value]"), ("export A=b", "[no value]"),
    ("A", "[no value]"),
  ]

  @Test(arguments: settings)
  func itReadsSettingsAsSystemdDoes(text: String, expected: String) throws {
    #expect(try value(of: "A", in: text) == expected)
    #expect(try value(of: "A", in: "B=1\n\(text)\nC=2\n") == expected)
  }

  @Test(arguments: [
    "A=$(touch FILE)", "A=`touch FILE`", "A=\"$(touch FILE)\"", "A[$(touch FILE)]=b",
  ])
  func itExecutesNothing(text: String) throws {
    let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path()
    _ = try value(of: "A", in: text.replacing("FILE", with: file))
    #expect(!FileManager.default.fileExists(atPath: file))
  }

  /// The companion compares the keys with its own. Only root can ask the kernel for the limit.
  @Test(.enabled(if: geteuid() == 0)) func aCheckGetsThePublicKeysAndTheLimitOfConnections() throws
  {
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path()
    defer { try? FileManager.default.removeItem(atPath: folder) }  // It is in the temporary folder.
    let source = try String(contentsOfFile: "\(Self.folder)/switchboard", encoding: .utf8)
    try writeScript(
      source.replacing("/etc/switchboard", with: "\(folder)/etc"), to: "\(folder)/bin/switchboard")
    try writeScript(
      "#!/bin/sh\necho \"$SWITCHBOARD_COMPANION_PUBLIC_KEYS $SWITCHBOARD_CONNECTION_LIMIT\"\n",
      to: "\(folder)/bin/setpriv")
    for (name, text) in [
      ("etc/environment", ""), ("etc/secrets/companion-public-keys", "public:c1:k"),
      ("share/switchboard/limit-connections", "#!/bin/sh\necho \"word of $1\"\n"),
      (
        "share/switchboard/environment.sh",
        try String(contentsOfFile: "\(Self.folder)/environment.sh", encoding: .utf8)
      ),
    ] { try writeScript(text, to: "\(folder)/\(name)") }
    let outcome = Site.run(["\(folder)/bin/switchboard", "check"])
    #expect(outcome.output == "public:c1:k word of status\n")
  }

  @Test(.enabled(if: geteuid() == 0)) func itSaysThatItNeedsRoot() {
    let outcome = Site.run([
      "setpriv", "--reuid=65534", "--clear-groups", "bash", "\(Self.folder)/switchboard", "check",
    ])
    #expect(outcome.status == 77)
    #expect(
      outcome.output
        == "switchboard: only root can read the site's secrets. Try: sudo switchboard check\n")
  }
}
