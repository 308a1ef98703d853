import Base
import Foundation
import Support
import Testing

@testable import Delivery

/// A defect of a backup or of its surroundings.
private struct RestoreProblem: Sendable {
  let name: String
  /// Bash code with the variables of ``TestBackup/shell(_:)``. If it makes `$FOLDER/f`, that file
  /// is restored instead of the backup.
  let spoil: String
  /// Additional options of the restore.
  var options: [String] = []
  let sentence: String

  /// Unpacks the backup into a folder, runs `change`, and corrects the manifest's entry of the
  /// part.
  static func repacked(part: Int, named file: String, _ change: String) -> String {
    """
    rm -rf $FOLDER/x; mkdir $FOLDER/x; cd $FOLDER/x; age -d -i $IDENTITY $FILE | tar -xz
    \(change)
    python3 - <<'END'
    import json, hashlib
    manifest = json.load(open('manifest.json'))
    content = open('\(file)', 'rb').read()
    manifest['parts'][\(part)].update(size=len(content), sha256=hashlib.sha256(content).hexdigest())
    json.dump(manifest, open('manifest.json', 'w'))
    END
    tar -cz --format=ustar configuration.tar dump.sql.000000 manifest.json | age -r $RECIPIENT >$FOLDER/f
    """
  }

  static let all = [
    RestoreProblem(
      name: "another key", spoil: "age-keygen -o $FOLDER/other 2>/dev/null",
      options: ["--identity", "other"], sentence: "cannot be decrypted with the key"),
    RestoreProblem(
      name: "a flipped bit",
      spoil:
        "cp $FILE $FOLDER/f; printf '\\377' | dd of=$FOLDER/f bs=1 seek=2000 conv=notrunc status=none",
      sentence: "or it is damaged"),
    RestoreProblem(
      name: "a lost end", spoil: "head -c -100 $FILE >$FOLDER/f", sentence: "or it is damaged"),
    RestoreProblem(
      name: "no identity", spoil: ":", options: ["--identity", "none"], sentence: "No such file"),
    RestoreProblem(
      name: "another archive",
      spoil: "tar -C $FOLDER -cz --format=ustar client.cnf | age -r $RECIPIENT >$FOLDER/f",
      sentence: "does not hold what its manifest names"),
    RestoreProblem(
      name: "no archive",
      spoil: "head -c 100000 /dev/urandom | gzip | age -r $RECIPIENT >$FOLDER/f",
      sentence: "something else than a backup"),
    RestoreProblem(
      name: "a part that is not the manifest's",
      spoil: RestoreProblem.repacked(part: 1, named: "dump.sql.000000", "")
        .replacing("tar -cz", with: "echo x >>dump.sql.000000; tar -cz"),
      sentence: "does not hold what its manifest names"),
    RestoreProblem(
      name: "a dump without its end",
      spoil: RestoreProblem.repacked(
        part: 1, named: "dump.sql.000000",
        "head -c -100 dump.sql.000000 >d; mv d dump.sql.000000"),
      sentence: "the dump of the database has no end"),
    RestoreProblem(
      name: "a dump that is no SQL",
      spoil: RestoreProblem.repacked(
        part: 1, named: "dump.sql.000000",
        "printf 'NOT SQL;\\n-- Dump completed\\n' >dump.sql.000000"),
      sentence: "mariadb failed: ERROR 1064"),
    RestoreProblem(
      name: "a file that is no site's",
      spoil: RestoreProblem.repacked(
        part: 0, named: "configuration.tar",
        "mkdir -p etc/cron.d; echo x >etc/cron.d/x; tar -c --format=ustar etc >configuration.tar"),
      sentence: "etc/, which is not a file of a site"),
    RestoreProblem(
      name: "no schema.sql", spoil: ":", options: ["--schema", "none"],
      sentence: "Name the schema.sql"),
  ]
}

/// Refusals of a restore.
@Suite(.serialized) struct RestoreProblemTests {
  @Test func whatIsInTheWayIsSaidAndNothingIsChanged() throws {
    try withBackup { backup throws in
      #expect(backup.backUp().status == 0)
      for problem in RestoreProblem.all {
        backup.shell("rm -f $FOLDER/f; \(problem.spoil)")
        let before = backup.everything()
        let spoiled = backup.folder + "/f"
        let isSpoiled = FileManager.default.fileExists(atPath: spoiled)
        let options = problem.options.map { $0.hasPrefix("--") ? $0 : "\(backup.folder)/\($0)" }
        let restored = backup.restore(
          ["--yes", "--replace"] + options, of: isSpoiled ? spoiled : nil)
        #expect(restored.status == 1, "\(problem.name): \(restored.output)")
        #expect(
          restored.output.contains(problem.sentence), "\(problem.name): \(restored.output)")
        #expect(
          restored.output.contains("Nothing was changed"), "\(problem.name): \(restored.output)")
        #expect(backup.everything() == before, "\(problem.name)")
      }
    }
  }

  @Test func aBackupOfALaterSchemaNeedsTheLaterPrograms() throws {
    try withBackup { backup throws in
      backup.delivery.sql("UPDATE schema_version SET version = version + 1")
      #expect(backup.backUp().status == 0)
      let before = backup.everything()
      let restored = backup.restore()
      #expect(restored.status == 1)
      #expect(restored.output.contains("Install the release that made it (\(Product.version))."))
      #expect(backup.everything() == before)
    }
  }
}
