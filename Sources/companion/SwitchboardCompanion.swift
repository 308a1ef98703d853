import Administration
import ArgumentParser
import Base
import Delivery
import Glibc
import ProcessSupport
import SharedSettings
import Store

struct SwitchboardCompanion: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: nameOfProgram,
    abstract: "Sends notifications and mails, and polls online-go.com and banks, for Switchboard.",
    version: Product.version,
    subcommands: [
      Run.self, Watch.self, Status.self, Check.self, Why.self, Metrics.self, Accounts.self,
      Devices.self, Sessions.self, Outbox.self, Models.self, Turns.self, Limits.self, Pair.self,
      Pairings.self, Banks.self, Merchants.self, Keys.self, Backup.self,
      Restore.self, BackupSQL.self, MissingKeys.self, TestMail.self, TestPush.self, Variables.self,
      Setup.self,
    ])
}

/// Name of the command for usage texts. The script `switchboard` sets it to its own name.
private let nameOfProgram =
  getenv("SWITCHBOARD_COMMAND").map { String(cString: $0) } ?? "switchboard-companion"

/// The socket that systemd or spawn-fcgi passed to this process; nil if there is none. Call it once,
/// before any thread starts.
private func inheritedWakeSocket() throws -> WakeSocket? {
  switch InheritedSocket.inherit() {
  case .listening(let descriptor): return WakeSocket(descriptor: descriptor)
  case .notListening:
    throw ConfigurationError(["The socket from systemd must listen: set Accept=no in its unit."])
  case .none: return nil
  }
}

struct Run: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Runs one pass: sends what is due. For a timer.",
    discussion: "Example: switchboard run --dry-run")

  @ArgumentParser.Flag(help: "Print what would go where; send nothing and change nothing.")
  var dryRun = false

  func run() throws {
    let wakeSocket = try inheritedWakeSocket()
    // Accepts before anything can fail: otherwise systemd starts us again for the waiting
    // connection.
    wakeSocket?.accept()
    let companion = try Configuration(Environment.ofProcess()).companion()
    if dryRun {
      for line in try companion.dryRun() { print(line) }
      return
    }
    releaseStartPages()
    guard companion.run(wakeSocket: wakeSocket) else { throw ExitCode.failure }
  }
}

struct Watch: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Runs a pass on each interval and whenever it is woken, for hosts without systemd.",
    discussion: "Example: switchboard watch")

  func run() throws {
    let wakeSocket = try inheritedWakeSocket()
    let configuration = try Configuration(Environment.ofProcess())
    let companion = try configuration.companion()
    releaseStartPages()
    companion.watch(every: configuration.settings.interval, wakeSocket: wakeSocket)
  }
}

struct Check: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract:
      "Checks database, configuration and secrets, and tries mail, push services and the site.",
    discussion: """
      Sends nothing. Ends with status 0 where nothing is wrong, and 1 where there is a PROBLEM.
      Example: switchboard check
      """)

  @OptionGroup var output: Output

  func run() throws {
    let lines = CheckReport(try Configuration(Environment.ofProcess()).check())
    output.print(lines)
    if !lines.isFine { throw ExitCode.failure }
  }
}
