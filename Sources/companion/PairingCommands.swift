import Administration
import ArgumentParser
import ProcessSupport
import SharedSettings
import Store

struct Pair: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Shows the QR code that pairs a phone with the agent.",
    discussion: "Example: switchboard pair")

  @ArgumentParser.Flag(
    help: "Print the content of the QR code and the expiry of its token as JSON.")
  var json = false

  func run() throws {
    let pairing = try PairingAdministration(Environment.ofProcess())
    print(json ? try pairing.json() : try pairing.text())
  }
}

struct Pairings: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Lists, names and revokes the phones that may reach the agent.",
    subcommands: [List.self, Rename.self, Revoke.self], defaultSubcommand: List.self)

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Lists the paired phones, the last used one first.",
      discussion: "Example: switchboard pairings --json")

    @OptionGroup var output: Output

    func run() throws {
      output.print(try PairedPhones(records: .ofCommand()).list())
    }
  }

  struct Rename: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Names a paired phone. An empty name restores the name that the app gives itself.",
      discussion: """
        Example: switchboard pairings rename 01890a5d-ac96-774b-bcce-b302099a8010 "Ann's phone"
        """)

    @Argument(help: "The id of the phone.")
    var id: String
    @Argument(help: "The name, of at most 64 characters.")
    var name: String
    @OptionGroup var rehearsal: Rehearsal
    @OptionGroup var output: Output

    func run() throws {
      let phones = PairedPhones(records: try .ofCommand(isRehearsal: rehearsal.dryRun))
      try output.print(phones.giveName(name, to: id), orNotFound: "No paired phone has this id.")
    }
  }

  struct Revoke: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Revokes a paired phone. It is refused from its next request on.",
      discussion: "Example: switchboard pairings revoke 01890a5d-ac96-774b-bcce-b302099a8010")

    @Argument(help: "The id of the phone.")
    var id: String
    @OptionGroup var rehearsal: Rehearsal
    @OptionGroup var output: Output

    func run() throws {
      let phones = PairedPhones(records: try .ofCommand(isRehearsal: rehearsal.dryRun))
      try output.print(phones.revoke(id), orNotFound: "No paired phone has this id.")
    }
  }
}

extension PairingAdministration {
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
