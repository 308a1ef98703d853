import ArgumentParser
import Delivery
import Program
import Store

struct Pair: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Shows the QR code that pairs a phone with the agent.")

  @ArgumentParser.Flag(help: "Print the content of the QR code and the expiry of its token as JSON.")
  var json = false

  func run() throws {
    let desk = try PairingDesk(Environment.ofProcess())
    print(json ? try desk.json(at: .now()) : try desk.text(at: .now()))
  }
}

struct Devices: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Lists the phones that may reach the agent, or revokes one.")

  @Option(help: "Id of a phone to revoke. It is refused from its next request on.")
  var revoke: String?

  func run() throws {
    let desk = try PairingDesk(Environment.ofProcess())
    guard let revoke else { return print(try desk.devices(at: .now())) }
    guard try desk.revoke(revoke, at: .now()) else {
      throw NotFound("No paired phone has this id.")
    }
    print("Revoked.")
  }
}

extension PairingDesk {
  /// - Throws: ``ConfigurationError`` that names everything missing or malformed.
  init(_ variables: Environment) throws {
    var environment = variables
    let publicURL = environment.publicURL()
    let agent = GuardedAgent(at: publicURL ?? "", from: &environment)
    let keys = environment.keyring(
      "SWITCHBOARD_CREDENTIAL_KEYS", "the keys that sign pairing tokens")
    let connection = environment.connectionSettings()
    guard let keys, environment.complaints.isEmpty else {
      throw ConfigurationError(environment.complaints)
    }
    self.init(database: Database(connection), agent: agent, keys: keys)
  }
}
