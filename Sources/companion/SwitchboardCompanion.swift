import ArgumentParser
import Delivery
import Program
import Store

struct SwitchboardCompanion: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "switchboard-companion",
    abstract: "Sends what Switchboard has to send.",
    version: Companion.version,
    subcommands: [
      Run.self, Watch.self, Check.self, Pair.self, Devices.self, Banks.self, Merchants.self,
      Keys.self,
    ])
}

/// An argument is well formed, but names nothing that there is.
struct NotFound: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) {
    self.description = description
  }
}

struct Run: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "One pass: sends what is due. For a timer.")

  @ArgumentParser.Flag(help: "Print what would go where; send nothing and change nothing.")
  var dryRun = false

  func run() throws {
    let knocks = KnockSocket.inherited()
    // Before anything can fail: for what still waits when we end, systemd starts us again.
    knocks?.answer()
    let configuration = try Configuration(Environment.ofProcess())
    if dryRun {
      for line in try configuration.companion().dryRun() { print(line) }
      return
    }
    guard configuration.companion().run(knocks: knocks) else {
      throw ExitCode.failure
    }
  }
}

struct Watch: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Passes on an interval and on each knock, for hosts without systemd.")

  func run() throws {
    let configuration = try Configuration(Environment.ofProcess())
    configuration.companion().watch(
      every: configuration.settings.interval, knocks: KnockSocket.inherited())
  }
}

struct Check: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Says whether configuration, database and schema are as they must be.")

  func run() throws {
    let configuration = try Configuration(Environment.ofProcess())
    let findings = configuration.companion().check()
    for finding in findings { print(finding) }
    if findings.contains(where: \.isFault) { throw ExitCode.failure }
  }
}
