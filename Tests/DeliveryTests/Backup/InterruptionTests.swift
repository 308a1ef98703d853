import Foundation
import Support
import Testing

@testable import Delivery

/// A signal that ends a backup or a restore.
@Suite(.serialized) struct InterruptionTests {
  /// Runs a command with a program of MariaDB that waits in its work, and ends the command and its
  /// programs by a signal then.
  ///
  /// - Parameters:
  ///   - program: name of the program.
  ///   - pattern: pattern of the shell for the arguments with which it waits.
  ///   - isKilled: SIGKILL instead of SIGTERM, which only the command itself gets.
  private func interrupt(
    _ command: [String], of backup: TestBackup, when program: String, gets pattern: String,
    isKilled: Bool = false
  ) throws {
    let folder = backup.folder + "/bin"
    let script = """
      #!/bin/sh
      case "$*" in \(pattern)) : >\(folder)/started; exec sleep 3600 ;; esac
      exec /usr/bin/\(program) "$@"
      """
    try writeScript(script, to: "\(folder)/\(program)")
    let words = ([builtProgram("switchboard-companion").path()] + command + backup.siteOptions)
      .map { "'\($0)'" }.joined(separator: " ")
    backup.shell(
      """
      PATH=\(folder):/usr/bin:/bin setsid \(words) >/dev/null 2>&1 &
      until [[ -e \(folder)/started ]]; do sleep 0.05; done
      kill \(isKilled ? "-KILL -- -$!" : "-TERM $!")
      status=0
      wait $! || status=$?
      ((status == \(isKilled ? 137 : 143)))
      """)
  }

  /// Makes the folder in memory of a killed command two minutes old.
  private func age(_ backup: TestBackup) {
    backup.shell(
      "grep -ls $FOLDER /dev/shm/switchboard-*/client | xargs dirname | xargs touch -d '2 minutes ago'"
    )
  }

  @Test func aStoppedBackupLeavesNothing() throws {
    try withBackup { backup throws in
      try interrupt(
        ["backup", "--to", backup.file, "--recipient", backup.recipient, "--database", "own"],
        of: backup, when: "mariadb-dump", gets: "*")
      #expect(try backup.delivery.files.filter { $0.hasPrefix("backup") } == [])
    }
  }

  @Test func theNextCommandRemovesTheRestOfAKilledBackup() throws {
    try withBackup { backup throws in
      try interrupt(
        ["backup", "--to", backup.file, "--recipient", backup.recipient, "--database", "own"],
        of: backup, when: "mariadb-dump", gets: "*", isKilled: true)
      #expect(try backup.delivery.files.count { $0.hasSuffix(".part") } == 1)
      age(backup)
      #expect(backup.backUp().status == 0)
      #expect(try backup.delivery.files.filter { $0.hasPrefix("backup") } == ["backup.age"])
      #expect(backup.shell("! grep -ls $FOLDER /dev/shm/switchboard-*/client") == "")
    }
  }

  @Test func theNextCommandRemovesTheRestOfAKilledRestore() throws {
    try withBackup { backup throws in
      #expect(backup.backUp().status == 0)
      let before = backup.everything()
      try interrupt(
        [
          "restore", backup.file, "--identity", backup.identity, "--schema", projectSchema.path(),
          "--yes", "--replace",
        ], of: backup, when: "mariadb", gets: "*own_restore_*", isKilled: true)
      #expect(backup.delivery.server.run("SHOW DATABASES").contains("own_restore_"))
      age(backup)
      #expect(backup.backUp(["--dry-run"]).status == 0)
      #expect(backup.everything() == before)
    }
  }

  @Test func theNextCommandRemovesADatabaseThatWasLoadedButNotPutIntoItsPlace() throws {
    try withBackup { backup throws in
      #expect(backup.backUp().status == 0)
      try interrupt(
        [
          "restore", backup.file, "--identity", backup.identity, "--schema", projectSchema.path(),
          "--yes", "--replace",
        ], of: backup, when: "tar", gets: "*--preserve-permissions*", isKilled: true)
      #expect(backup.delivery.server.run("SHOW DATABASES").contains("own_restore_"))
      age(backup)
      #expect(backup.backUp(["--dry-run"]).status == 0)
      #expect(!backup.delivery.server.run("SHOW DATABASES").contains("own_restore_"))
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
