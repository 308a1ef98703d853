import Administration
import ArgumentParser
import Base
import ProcessSupport
import SharedSettings

struct TestMail: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "test-mail", abstract: "Sends a test mail now, and prints the result.",
    discussion: "Example: switchboard test-mail ann@example.org")

  @Argument(help: "The e-mail address.")
  var address: String
  @ArgumentParser.Flag(help: "Print the result as JSON.")
  var json = false
  @ArgumentParser.Flag(help: "Say how the mail would go. Send nothing.")
  var dryRun = false

  func validate() throws {
    guard TestMailResult.isAddress(address) else {
      throw ValidationError("Give an e-mail address in ASCII, such as ann@example.org.")
    }
  }

  func run() throws {
    let companion = try Configuration(Environment.ofProcess()).unchecked()
    if dryRun {
      show(companion.describeTestMail(to: address), isAccepted: nil)
      return
    }
    let result = companion.testMail(to: address, at: .now())
    show(result.sentence, isAccepted: result.isAccepted)
    if !result.isAccepted { throw ExitCode.failure }
  }

  private func show(_ sentence: String, isAccepted: Bool?) {
    guard json else { return print(sentence) }
    let text = JSONWriter.object { json in
      json.member("recipient", address)
      if let isAccepted { json.member("accepted", isAccepted) }
      json.member("sentence", sentence)
    }
    print(String(decoding: text, as: UTF8.self))
  }
}

struct TestPush: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "test-push",
    abstract:
      "Sends a test notification now, and says what the push service answered for each device.",
    discussion: "Example: switchboard test-push ann@example.org")

  @Argument(help: "The e-mail address of an account, or a push token.")
  var addressee: String
  @ArgumentParser.Flag(help: "Print the result as JSON.")
  var json = false
  @ArgumentParser.Flag(help: "Say where the notification would go. Send nothing.")
  var dryRun = false

  func run() throws {
    let companion = try Configuration(Environment.ofProcess()).companion()
    guard let targets = try companion.testTargets(of: addressee) else {
      throw ValidationError("Name an e-mail address or a push token.")
    }
    guard !targets.isEmpty else {
      throw NotFound("No device of an account with this e-mail address has a push token.")
    }
    if dryRun {
      let sentences = try targets.map(companion.describeTestPush(to:))
      let text = String(decoding: JSONWriter.array(of: sentences), as: UTF8.self)
      return print(json ? text : sentences.joined(separator: "\n"))
    }
    let results = try companion.testPush(to: targets)
    if json {
      print(String(decoding: Self.json(of: results), as: UTF8.self))
    } else {
      for result in results { print(result.sentence) }
    }
    guard results.allSatisfy(\.isAccepted) else { throw ExitCode.failure }
  }

  private static func json(of results: [TestPushResult]) -> [UInt8] {
    JSONWriter.array { array in
      for result in results {
        array.object { json in
          json.member("token", result.token)
          json.member("accepted", result.isAccepted)
          json.member("status", result.status)
          json.member("reason", result.reason)
          json.member("sentence", result.sentence)
        }
      }
    }
  }
}
