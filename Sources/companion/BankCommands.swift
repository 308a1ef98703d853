import Administration
import ArgumentParser
import ProcessSupport
import SharedSettings
import Store

struct Banks: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Lists, adds and removes the banks at which people enroll their cards.",
    subcommands: [List.self, Add.self, Remove.self], defaultSubcommand: List.self)

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Lists the banks.", discussion: "Example: switchboard banks --json")

    @OptionGroup var output: Output

    func run() throws {
      output.print(try BankAdministration(records: .ofCommand()).list())
    }
  }

  struct Add: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Adds a bank, or changes the one with this id.",
      discussion: """
        The client secret is read as one line from standard input.
        Example: switchboard banks add --bsim-id td-bsim --name 'TD Bank' --client-id wsim \
        --authorization-url https://bank.example.com/authorize \
        --token-url https://bank.example.com/token --cards-url https://bank.example.com/cards \
        <client-secret
        """)

    @Option(help: "Id of the bank in the apps: letters, digits, '.', '_', '-'.")
    var bsimID: String
    @Option(help: "Name that people see.")
    var name: String
    @Option(help: "Page where people consent.")
    var authorizationURL: String
    @Option(help: "Endpoint that exchanges a code for a token.")
    var tokenURL: String
    @Option(help: "Endpoint that lists the cards.")
    var cardsURL: String
    @Option(help: "Id of this site at the bank.")
    var clientID: String
    @Option(help: "Scope that people consent to.")
    var scope = "openid cards"
    @Option(help: "Picture of the bank.")
    var logoURL: String?
    @OptionGroup var rehearsal: Rehearsal
    @OptionGroup var output: Output

    func run() throws {
      var environment = Environment.ofProcess()
      let keys = environment.companionKeys()
      let records = try environment.openRecords(isRehearsal: rehearsal.dryRun)
      guard let keys else { throw ConfigurationError(environment.complaints) }
      let bank = BankConnection(
        bsimID: bsimID, name: name, logoURL: logoURL, authorizationURL: authorizationURL,
        tokenURL: tokenURL, cardsURL: cardsURL, clientID: clientID, scope: scope)
      output.print(
        try BankAdministration(records: records).add(
          bank, secret: readLine() ?? "", sealedFor: keys))
    }
  }

  struct Remove: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Stops enrollments at a bank. Cards that were enrolled stay.",
      discussion: "Example: switchboard banks remove td-bsim --dry-run")

    @Argument(help: "The bank's id.")
    var bsimID: String
    @OptionGroup var rehearsal: Rehearsal
    @OptionGroup var output: Output

    func run() throws {
      let banks = BankAdministration(records: try .ofCommand(isRehearsal: rehearsal.dryRun))
      try output.print(
        banks.disconnect(bsimID), orNotFound: "No bank with this id is connected.")
    }
  }
}
