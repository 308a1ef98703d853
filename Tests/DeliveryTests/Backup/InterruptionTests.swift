import Foundation
import Support
import Testing

@testable import Delivery

/// A signal that ends a backup or a restore.
@Suite(.serialized) struct InterruptionTests {
  /// Runs a command with a program of MariaDB that waits in its work, and ends the command by
  /// SIGTERM then.
  ///
  /// - Parameters:
  ///   - program: name of the program.
  ///   - pattern: pattern of the shell for the arguments with which it waits.
  private func interrupt(
    _ command: [String], of backup: TestBackup, when program: String, gets pattern: String
  ) throws {
    let folder = backup.folder + "/bin"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let script = """
      #!/bin/sh
      case "$*" in \(pattern)) : >\(folder)/started; exec sleep 60 ;; esac
      exec /usr/bin/\(program) "$@"
      """
    try Data(script.utf8).write(to: URL(filePath: "\(folder)/\(program)"))
    let words = ([builtProgram("switchboard-companion").path()] + command + backup.siteOptions)
      .map { "'\($0)'" }.joined(separator: " ")
    backup.shell(
      """
      chmod +x \(folder)/\(program)
      PATH=\(folder):/usr/bin:/bin \(words) >/dev/null 2>&1 &
      until [[ -e \(folder)/started ]]; do sleep 0.05; done
      kill -TERM $!
      status=0
      wait $! || status=$?
      ((status == 143))
      """)
  }

  @Test func aStoppedBackupLeavesNothing() throws {
    try withBackup { backup throws in
      try interrupt(
        ["backup", "--to", backup.file, "--recipient", backup.recipient, "--database", "own"],
        of: backup, when: "mariadb-dump", gets: "*")
      #expect(try backup.delivery.files.filter { $0.hasPrefix("backup") } == [])
    }
  }

  @Test func aStoppedRestoreChangesNothing() throws {
    try withBackup { backup throws in
      #expect(backup.backUp().status == 0)
      let before = backup.everything()
      try interrupt(
        [
          "restore", backup.file, "--identity", backup.identity, "--schema", projectSchema.path(),
          "--yes", "--replace",
        ], of: backup, when: "mariadb", gets: "*own_restore_*")
      #expect(backup.everything() == before)
    }
  }
}
