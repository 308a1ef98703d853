import Base
import Cryptography
import Foundation
import Store
import Support
import Testing

@testable import Delivery

/// `switchboard backup` and `switchboard restore`, with the real programs.
@Suite(.serialized) struct BackupTests {
  @Test func whatWasLostComesBack() throws {
    try withBackup { backup throws in
      let delivery = backup.delivery
      try delivery.requestCode()
      delivery.sql("INSERT INTO banks (bsim_id, name) VALUES ('bank-1', 'Bänk 🏦')")
      let made = backup.backUp()
      #expect(made.status == 0, "\(made.output)")
      #expect(made.output.hasSuffix("The backup is \(backup.file).\n"))
      #expect(backup.shell("stat -c %a $FILE") == "600\n")

      delivery.server.run("DROP DATABASE own")
      try FileManager.default.removeItem(atPath: backup.root + "/etc")
      let restored = backup.restore(["--yes"])
      #expect(restored.status == 0, "\(restored.output)")
      #expect(delivery.sql("SELECT email FROM accounts") == "ann@example.org")
      #expect(delivery.sql("SELECT name FROM banks") == "Bänk 🏦")
      #expect(try backup.secret("companion-keys").hasPrefix("c1:"))
      #expect(backup.shell("stat -c %a $FOLDER/root/etc/switchboard/secrets/jwt-keys") == "600\n")
      #expect(delivery.sql("SELECT COUNT(*) FROM every_device") == "0", "the views are there")
      #expect(try delivery.companionDatabase.requireSchemaVersion() == ())
      let databases = delivery.server.run("SHOW DATABASES").split(separator: "\n")
      #expect(!databases.contains { $0.hasPrefix("own_") })
    }
  }
}
