import Base
import Foundation
import Store
import Support
import Testing

/// `switchboard backup`, with the real programs.
@Suite(.serialized) struct BackupTests {
  @Test func whatWasLostComesBack() throws {
    try withBackup { backup throws in
      let delivery = backup.delivery
      try delivery.requestCode()
      delivery.sql("INSERT INTO banks (bsim_id, name) VALUES ('bank-1', 'Bänk 🏦')")
      backup.shell(
        "cd $FOLDER/root/etc; mkdir -p nginx/switchboard; echo '192.0.2.7 \"\";' >nginx/switchboard/uncounted"
      )
      let made = backup.backUp()
      #expect(made.status == 0, "\(made.output)")
      #expect(made.output.hasSuffix("The backup is \(backup.file).\n"))
      #expect(backup.shell("stat -c %a $FILE") == "600\n")

      delivery.server.run("DROP DATABASE own")
      try FileManager.default.removeItem(atPath: backup.root + "/etc")
      let restored = backup.restore(["--yes"])
      #expect(restored.status == 0, "\(restored.output)")
      #expect(!restored.output.contains("settings"), "\(restored.output)")
      #expect(
        backup.shell("cat $FOLDER/root/etc/nginx/switchboard/uncounted") == "192.0.2.7 \"\";\n")
      #expect(delivery.sql("SELECT email FROM accounts") == "ann@example.org")
      #expect(delivery.sql("SELECT name FROM banks") == "Bänk 🏦")
      #expect(try backup.secret("companion-keys").hasPrefix("c1:"))
      #expect(backup.shell("stat -c %a $FOLDER/root/etc/switchboard/secrets/jwt-keys") == "600\n")
      #expect(delivery.sql("SELECT COUNT(*) FROM every_device") == "0", "the views are there")
      try delivery.companionDatabase.requireSchemaVersion()
      let databases = delivery.server.run("SHOW DATABASES").split(separator: "\n")
      #expect(!databases.contains { $0.hasPrefix("own_") })
    }
  }

  /// The backup can be read with only age, tar and the key.
  @Test func itIsReadWithoutOurPrograms() throws {
    try withBackup { backup throws in
      #expect(backup.backUp().status == 0)
      backup.shell(
        """
        cd $FOLDER; age -d -i $IDENTITY $FILE | tar -xz
        grep -q '"schemaVersion": \(Database.schemaVersion)' manifest.json
        tar -tf configuration.tar | grep -x etc/switchboard/secrets/jwt-keys >/dev/null
        """)
      backup.delivery.server.run("DROP DATABASE own; CREATE DATABASE own")
      backup.shell("cd $FOLDER; cat dump.sql.* | mariadb --defaults-file=$OPTIONS own")
      #expect(backup.delivery.sql("SELECT name FROM accounts") == "Ann")
    }
  }

  @Test func manyPiecesOfADumpAreOneAgain() throws {
    try withBackup { backup throws in
      backup.delivery.sql(
        """
        INSERT INTO rate_limits (name, subject, window_started_at, window_seconds, hits, allowed)
          SELECT 'n', CONCAT(REPEAT(SHA2(seq, 512), 3), seq), NOW(3), 1, 1, 1 FROM seq_1_to_60000
        """)
      let before = backup.delivery.sql("CHECKSUM TABLE rate_limits")
      let made = backup.backUp(["--json"])
      let report = try JSONSerialization.jsonObject(with: Data(made.output.utf8)) as? [String: Any]
      #expect(try #require(report?["dump_bytes"] as? Int) > 2 * (8 << 20))
      #expect(backup.restore().status == 0)
      #expect(backup.delivery.sql("CHECKSUM TABLE rate_limits") == before)
    }
  }

  @Test func aDryRunChecksEverythingAndWritesNothing() throws {
    try withBackup { backup throws in
      let planned = backup.backUp(["--dry-run"])
      #expect(planned.status == 0, "\(planned.output)")
      #expect(planned.output.contains("The database own, schema version \(Database.schemaVersion)"))
      #expect(planned.output.hasSuffix("Nothing was written.\n"))
      let wrong = backup.run([
        "backup", "--to", backup.file, "--recipient", "age1wrong", "--dry-run",
      ])
      #expect(wrong.status == 1)
      #expect(wrong.output.contains("age failed: age: error: "))
      #expect(try backup.delivery.files.filter { $0.hasPrefix("backup") } == [])
    }
  }

  @Test func aFileThatExistsIsKept() throws {
    try withBackup { backup throws in
      try Data("old".utf8).write(to: URL(filePath: backup.file))
      let made = backup.backUp()
      #expect(made.status == 1)
      #expect(made.output.contains("\(backup.file) exists already. Choose another name."))
      #expect(try backup.delivery.text("backup.age") == "old")
    }
  }

  /// A `mariadb-dump` that is killed, or that ends without an error before the end of its output.
  @Test(arguments: ["kill $$", "exit 3", "exit 0"]) func aDumpWithoutItsEndIsNoBackup(
    _ ending: String
  ) throws {
    try withBackup { backup throws in
      let folder = backup.folder + "/bin"
      let script = "#!/bin/sh\n/usr/bin/mariadb-dump \"$@\" | head -c 5000\n\(ending)\n"
      try writeScript(script, to: folder + "/mariadb-dump")
      let made = runProgram(
        "env",
        ["PATH=\(folder):/usr/bin:/bin", builtProgram("switchboard-companion").path()]
          + ["backup", "--to", backup.file, "--recipient", backup.recipient, "--database", "own"]
          + backup.siteOptions)
      #expect(made.status == 1)
      #expect(made.output.contains("mariadb-dump"), "\(made.output)")
      #expect(try backup.delivery.files.filter { $0.hasPrefix("backup") } == [])
    }
  }

  @Test(.enabled(if: geteuid() == 0)) func aFullDiskIsNamedAndLeavesNothing() throws {
    try withBackup { backup throws in
      backup.shell("mkdir $FOLDER/small; mount -t tmpfs -o size=8k none $FOLDER/small")
      defer { backup.shell("umount $FOLDER/small") }
      let made = backup.backUp(to: backup.folder + "/small/backup.age")
      #expect(made.status == 1)
      #expect(made.output.contains("no space left on device"), "\(made.output)")
      #expect(try FileManager.default.contentsOfDirectory(atPath: backup.folder + "/small") == [])
    }
  }

  @Test func withoutAgeAndWithoutRootItSaysWhatToDo() throws {
    let program = builtProgram("switchboard-companion").path()
    let arguments = ["backup", "--to", "/tmp/none", "--recipient", "age1x"]
    let without = runProgram(
      "env", ["PATH=/nonexistent", program] + arguments + ["--root", "/tmp"])
    #expect(without.status == 1)
    #expect(without.output.contains("Install them: apt-get install age mariadb-client"))
    guard geteuid() == 0 else { return }
    let nobody = runProgram(
      "setpriv", ["--reuid=65534", "--regid=65534", "--clear-groups", program] + arguments)
    #expect(nobody.output.contains("run this command as root"), "\(nobody.output)")
  }

  @Test func aDatabaseOnAnotherHostNeedsALogin() throws {
    let made = runProgram(
      "env",
      ["SWITCHBOARD_DB_HOST=db.example.org", builtProgram("switchboard-companion").path()]
        + ["backup", "--to", "/tmp/none", "--recipient", "age1x", "--root", "/tmp"])
    #expect(made.status == 1)
    #expect(made.output.contains("--defaults-file FILE"))
  }

  @Test func withoutAPublicKeyTheCommandLineIsWrong() {
    let made = runProgram(
      builtProgram("switchboard-companion").path(), ["backup", "--to", "/tmp/none"])
    #expect(made.status == 64)
    #expect(made.output.contains("Name a public key with --recipient"))
  }
}
