import Cryptography
import Foundation
import Store
import Support
import Testing

@testable import Delivery

/// The administrators' commands as programs: their output and their exit status.
@Suite(.serialized) struct CommandTests {
  private func run(
    _ command: String, _ delivery: TestDelivery, expecting status: Int32
  ) throws -> RunningCompanion {
    let companion = try RunningCompanion(delivery, command)
    companion.process.waitUntilExit()
    #expect(
      companion.process.terminationStatus == status,
      "\(command): \(companion.log)\(companion.output)")
    return companion
  }

  private static let session = "01890a5d-ac96-774b-bcce-b302099a8003"

  @Test(
    arguments: [
      "accounts", "accounts show ann@example.org", "devices --email ann@example.org",
      "sessions --email ann@example.org", "outbox", "outbox list --state dead", "models", "banks",
      "merchants", "merchants webhooks", "turns users", "turns keys", "limits", "pairings",
      "why ann@example.org",
    ])
  func aTableOrASingleJSONDocumentIsPrinted(_ command: String) throws {
    try withDelivery { delivery throws in
      let json = try run("\(command) --json", delivery, expecting: 0).output
      #expect(json.hasSuffix("}\n"))
      #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: Data(json.utf8)) }
      let text = try run(command, delivery, expecting: 0).output
      #expect(!text.contains("{") && text.contains("\n"), "\(text)")
    }
  }

  @Test(
    arguments: [
      "accounts show nobody@example.org", "devices --email nobody@example.org",
      "sessions --email nobody@example.org", "sessions end \(session)",
      "sessions end --email nobody@example.org", "outbox retry \(session)",
      "outbox discard \(session)", "banks remove x", "merchants revoke \(session)",
      "merchants set \(session) --hourly 5", "merchants rotate-secret \(session)",
      "merchants webhooks \(session)", "merchants resend \(session)",
      "turns keys revoke abcdefgh --user 7", "limits lift x y", "pairings revoke \(session)",
      "pairings rename \(session) x",
      "why 12345678",
    ])
  func whatDoesNotExistIsSaidInASentenceWithStatus1(_ command: String) throws {
    try withDelivery { delivery throws in
      for command in [command, "\(command) --json"] {
        let companion = try run(command, delivery, expecting: 1)
        #expect(companion.log.wholeMatch(of: /Error: [A-Z][^\n]*\.\n/) != nil, "\(companion.log)")
        #expect(companion.output == "")
      }
    }
  }

  @Test(
    arguments: [
      ("accounts --limit 0", "--limit must be a number from 1 to 10000."),
      ("sessions end", "Give either the id of a session or --email."),
      ("models set", "Give either the names of models or --any."),
      ("models set a A", "Name each model once."), ("turns users --after -1", "--after"),
      ("why bbbb", "Give a device token"), ("devices", "--email"),
      ("outbox list --state lost", "lost"), ("merchants add  ", "name"),
      ("merchants set \(session)", "Give at least one setting."),
      ("merchants set \(session) --webhook https://a/ --no-webhook", "Give either --webhook or"),
      ("merchants set \(session) --hourly many", "--hourly"),
      ("help nope", "There is no command nope"), ("help banks nope", "There is no command nope"),
      ("test-mail notanaddress", "Give an e-mail address"),
      ("test-mail notanaddress --dry-run", "Give an e-mail address"),
    ])
  func badArgumentsEndWith64(_ command: String, _ words: String) throws {
    try withDelivery { delivery throws in
      let companion = try run(command, delivery, expecting: 64)
      #expect(companion.log.contains(words), "\(companion.log)")
    }
  }

  @Test func aMerchantIsAddedOnlyWithoutDryRun() throws {
    try withDelivery { delivery throws in
      let before = delivery.dump
      let rehearsal = try run("merchants add Shop --dry-run", delivery, expecting: 0)
      #expect(rehearsal.output == "Would add the merchant Shop. Nothing was changed.\n")
      #expect(delivery.dump == before)
      let key = try run("merchants add Shop", delivery, expecting: 0).output
      #expect(key.wholeMatch(of: /msk_[\w-]{43}\n/) != nil)
      let json = try run("merchants add Other --json", delivery, expecting: 0).output
      let added = try #require(
        JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
      #expect((added["api_key"] as? String)?.hasPrefix("msk_") == true)
      let id = try #require(added["id"] as? String)
      #expect(delivery.sql("SELECT name FROM merchants WHERE id = '\(id)'") == "Other")
      #expect(delivery.administratorsEvents.count == 2)
    }
  }

  @Test func theSecretForWebhooksIsPrintedOnce() throws {
    try withDelivery { delivery throws in
      let id = try delivery.addMerchant()
      let set =
        "merchants set \(id) --webhook https://shop.example.com/hook --return https://a.example https://b.example --largest 500 --hourly 9"
      let rehearsal = try run("\(set) --dry-run", delivery, expecting: 0).output
      #expect(
        rehearsal == "Would change the settings of the merchant Shop. Nothing was changed.\n")
      let secret = try run(set, delivery, expecting: 0).output
      #expect(secret.wholeMatch(of: /whsec_[A-Za-z0-9+\/]{43}=\n/) != nil)
      #expect(
        try run(set, delivery, expecting: 0).output
          == "Changed the settings of the merchant Shop.\n")
      #expect(
        delivery.sql("SELECT return_origins, largest_amount, hourly_requests FROM merchants")
          == "https://a.example https://b.example\t500.0000\t9")
      let rotated = try run("merchants rotate-secret \(id) --json", delivery, expecting: 0).output
      let new = try #require(rotated.firstMatch(of: /"webhook_secret":"(whsec_[^"]+)"/)).1
      #expect("\(new)\n" != secret)
      let bad = try run(
        "merchants set \(id) --webhook http://shop.example.com", delivery, expecting: 64)
      #expect(bad.log.hasPrefix("Error: --webhook must be an https URL"), "\(bad.log)")
      _ = try run(
        "merchants set \(id) --no-webhook --no-return --no-largest", delivery, expecting: 0)
      let none = try run("merchants rotate-secret \(id)", delivery, expecting: 64)
      #expect(none.log.hasPrefix("Error: The merchant has no URL for webhooks"), "\(none.log)")
    }
  }

  @Test func aMerchantsNameIsTakenWhileTheKeyIsValid() throws {
    try withDelivery { delivery throws in
      let added = try run("merchants add Shop --json", delivery, expecting: 0).output
      for command in ["merchants add Shop", "merchants add Shop --dry-run"] {
        let refused = try run(command, delivery, expecting: 1)
        #expect(refused.log.hasPrefix("Error: There is a merchant with the name Shop already."))
        #expect(refused.output == "")
      }
      #expect(delivery.sql("SELECT COUNT(*) FROM merchants") == "1")
      let id = try #require(added.firstMatch(of: /"id":"([^"]+)"/)).1
      _ = try run("merchants revoke \(id)", delivery, expecting: 0)
      _ = try run("merchants add Shop", delivery, expecting: 0)
    }
  }

  @Test(arguments: ["help", "help banks", "help banks add", "help --help"])
  func helpOfACommandEndsWith0(_ command: String) throws {
    try withDelivery { delivery throws in
      #expect(try run(command, delivery, expecting: 0).output.contains("USAGE: switchboard"))
    }
  }

  @Test func usageNamesTheCommandThatWasTyped() throws {
    try withDelivery { delivery throws in
      for (changes, name) in [
        (["SWITCHBOARD_COMMAND": "switchboard"], "switchboard"), ([:], "switchboard-companion"),
      ] {
        let companion = try RunningCompanion(delivery, "status --nope", changing: changes)
        companion.process.waitUntilExit()
        #expect(companion.process.terminationStatus == 64)
        #expect(companion.log.contains("Usage: \(name) status "), "\(companion.log)")
      }
    }
  }

  @Test func keysAreChangedOnlyWithoutDryRun() throws {
    try withDelivery { delivery throws in
      let file = "\(delivery.folder)/keys"
      _ = try run("keys add \(file) --dry-run", delivery, expecting: 0)
      #expect(try !delivery.files.contains("keys"))
      let first = try run("keys add \(file)", delivery, expecting: 0).output.dropLast()
      let second = try run("keys add \(file)", delivery, expecting: 0).output.dropLast()
      let before = try delivery.text("keys")
      for change in ["keys use \(file) \(second)", "keys remove \(file) \(second)"] {
        let text = try run("\(change) --dry-run", delivery, expecting: 0).output
        #expect(text.hasPrefix("Would ") && text.hasSuffix("Nothing was changed.\n"), "\(text)")
      }
      #expect(try delivery.text("keys") == before)
      _ = try run("keys use \(file) \(second)", delivery, expecting: 0)
      let list = try run("keys \(file) --json", delivery, expecting: 0).output
      #expect(
        list == #"{"keys":[{"id":"\#(second)","use":"signs"},{"id":"\#(first)","use":"verifies"}],"#
          + #""is_more":false}"# + "\n")
    }
  }

  @Test func theKeyForWebPushIsMadeOnceAndPrintedEachTime() throws {
    try withDelivery { delivery throws in
      let file = "\(delivery.folder)/vapid-key"
      let rehearsal = try run("keys vapid \(file) --dry-run", delivery, expecting: 0).output
      #expect(rehearsal == "Would make the file with a new key. Nothing was changed.\n")
      let json = try run("keys vapid \(file) --dry-run --json", delivery, expecting: 0).output
      #expect(json.contains(#""dry_run":true"#), "\(json)")
      #expect(try !delivery.files.contains("vapid-key"))
      let printed = try run("keys vapid \(file)", delivery, expecting: 0).output
      let key = try #require(base64URLDecoded(String(printed.dropLast())))
      let kept = try P256PrivateKey(pem: delivery.text("vapid-key")).publicKey()
      #expect(kept.uncompressedPoint == key)
      let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions]
      #expect(mode as? Int == 0o600)
      for option in ["", " --dry-run"] {
        let again = try run("keys vapid \(file)\(option)", delivery, expecting: 0)
        #expect(again.output == printed)
      }
      #expect(
        try run("keys vapid \(file) --json", delivery, expecting: 0).output
          == #"{"public_key":"\#(printed.dropLast())"}"# + "\n")
    }
  }

  @Test func whatIsNoKeyForWebPushIsRefusedAndStays() throws {
    try withDelivery { delivery throws in
      func refusal(_ path: String) throws -> String {
        let tried = try run("keys vapid \(path)", delivery, expecting: 1)
        #expect(tried.output == "")
        return tried.log.replacing(delivery.folder, with: "…")
      }
      let file = "\(delivery.folder)/vapid-key"
      for text in ["", "secret", "k1:\(base64URLEncoded([UInt8](repeating: 7, count: 32)))\n"] {
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        chmod(file, 0o600)
        #expect(
          try refusal(file) == "Error: …/vapid-key does not hold a P-256 private key in PEM.\n")
        #expect(try delivery.text("vapid-key") == text)
      }
      try testPrivateKey.write(toFile: file, atomically: true, encoding: .utf8)
      chmod(file, 0o604)
      #expect(
        try refusal(file)
          == "Error: …/vapid-key is open to every user: chmod o= it, and rotate its keys.\n")
      #expect(
        try refusal("\(delivery.folder)/none/vapid-key")
          == "Error: …/none/vapid-key cannot be replaced.\n")
      _ = try run("keys vapid", delivery, expecting: 64)
    }
  }

  /// The help of every command has an example.
  @Test func everyCommandHasAnExample() throws {
    try withDelivery { delivery throws in
      let experimental = try run("--experimental-dump-help", delivery, expecting: 0).output
      let document = try #require(
        JSONSerialization.jsonObject(with: Data(experimental.utf8)) as? [String: Any])
      let commands = leaves(of: try #require(document["command"] as? [String: Any]), [])
      #expect(commands.count > 30)
      for (name, discussion) in commands {
        #expect(discussion.contains("Example: switchboard"), "\(name)")
      }
    }
  }

  private func leaves(
    of command: [String: Any], _ parents: [String]
  ) -> [(name: String, discussion: String)] {
    let name = command["commandName"] as? String ?? ""
    let subcommands = (command["subcommands"] as? [[String: Any]] ?? [])
      .filter { $0["commandName"] as? String != "help" }
    guard subcommands.isEmpty else {
      return subcommands.flatMap { leaves(of: $0, parents + [name]) }
    }
    return [((parents + [name]).joined(separator: " "), command["discussion"] as? String ?? "")]
  }
}
