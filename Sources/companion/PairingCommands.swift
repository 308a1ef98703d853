import ArgumentParser
import Delivery
import Program
import Store

struct Pair: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Shows the QR code that pairs a phone with the agent.")

  @ArgumentParser.Flag(
    help: "Print the content of the QR code and the expiry of its token as JSON.")
  var json = false

  func run() throws {
    let pairing = try PairingDirectory(Environment.ofProcess())
    print(json ? try pairing.json() : try pairing.text())
  }
}

struct Devices: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Lists the phones that may reach the agent, or revokes one.")

  @Option(help: "Id of a phone to revoke. It is refused from its next request on.")
  var revoke: String?

  func run() throws {
    let pairing = try PairingDirectory(Environment.ofProcess())
    guard let revoke else { return print(try pairing.devices()) }
    guard try pairing.revoke(revoke) else {
      throw NotFound("No paired phone has this id.")
    }
    print("Revoked.")
  }
}

extension PairingDirectory {
  /// - Throws: ``ConfigurationError`` that names everything missing or malformed; ``SchemaMismatch``.
  init(_ variables: Environment) throws {
    var environment = variables
    let publicURL = environment.publicURL() ?? ""
    let agent = environment.agent(at: publicURL)
    let keys = environment.keyring(
      "SWITCHBOARD_CREDENTIAL_KEYS", "the keys that sign pairing tokens")
    let records = try environment.openRecords()
    guard let keys else { throw ConfigurationError(environment.complaints) }
    self.init(records: records, agent: agent, keys: keys)
  }
}
