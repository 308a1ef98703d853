import Foundation
import Store
import Support
import Testing

/// Exit statuses of `switchboard-companion`. systemd restarts a program that ended with 1, and does
/// not restart a program that ended with 78.
@Suite(.serialized) struct ExitCodeTests {
  @Test(arguments: ["run", "watch", "check"])
  func withoutItsVariablesItEndsWith78(_ command: String) throws {
    try withDelivery { delivery throws in
      let companion = try RunningCompanion(
        delivery, command, changing: ["SWITCHBOARD_COMPANION_KEYS": "", "SWITCHBOARD_DB_USER": ""])
      try companion.end(expecting: 78)
      #expect(companion.messages.contains("SWITCHBOARD_COMPANION_KEYS is missing"))
      #expect(companion.messages.contains("SWITCHBOARD_DB_USER is missing"))
    }
  }

  @Test(arguments: ["run", "watch", "check", "banks list"])
  func withTheSchemaOfAnotherVersionItEndsWith1AndSaysWhatToDo(_ command: String) throws {
    try withDelivery { delivery throws in
      delivery.sql("UPDATE schema_version SET version = 0")
      let companion = try RunningCompanion(delivery, command)
      try companion.end(expecting: 1)
      #expect(
        companion.messages.contains(
          "The schema has version 0, this program needs version \(Database.schemaVersion): apply the schema.sql of this "
            + "release (switchboard setup), then start the program again."))
      delivery.sql("UPDATE schema_version SET version = \(Database.schemaVersion + 1)")
      let old = try RunningCompanion(delivery, command)
      try old.end(expecting: 1)
      #expect(old.messages.contains("install the programs of the release"))
    }
  }

  @Test func whereTheDatabaseDoesNotAnswerARunEndsWith1() throws {
    try withDelivery { delivery throws in
      let companion = try RunningCompanion(
        delivery, "run", changing: ["SWITCHBOARD_DB_SOCKET": "\(delivery.folder)/none"])
      try companion.end(expecting: 1)
    }
  }
}

extension RunningCompanion {
  /// The program's output and log.
  fileprivate var messages: String { output + log }
}
