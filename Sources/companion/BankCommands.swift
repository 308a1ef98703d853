import ArgumentParser
import Delivery
import Program
import Store

struct Banks: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Connects the banks at which accounts enrol their cards.",
    subcommands: [List.self, Add.self, Remove.self], defaultSubcommand: List.self)

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Lists the banks.")

    func run() throws {
      print(try BankDesk(Environment.ofProcess()).list())
    }
  }

  struct Add: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Adds a bank, or changes the one with this id.",
      discussion: "The client secret is one line of standard input.")

    @Option(help: "By which the apps name the bank: letters, digits, '.', '_', '-'.")
    var bsimID: String
    @Option(help: "What people are shown.")
    var name: String
    @Option(help: "Where people consent.")
    var authorizationURL: String
    @Option(help: "Where a code is exchanged for a token.")
    var tokenURL: String
    @Option(help: "What the token is good for: the person's cards.")
    var cardsURL: String
    @Option(help: "By which the bank knows this site.")
    var clientID: String
    @Option(help: "What people consent to.")
    var scope = "openid cards"
    @Option(help: "A picture.")
    var logoURL: String?

    func run() throws {
      let desk = try BankDesk(Environment.ofProcess())
      let bank = BankConnection(
        bsimID: bsimID, name: name, logoURL: logoURL, authorizationURL: authorizationURL,
        tokenURL: tokenURL, cardsURL: cardsURL, clientID: clientID, scope: scope)
      try desk.add(bank, secret: readLine() ?? "", at: .now())
      print("\(bsimID) is connected.")
    }
  }

  struct Remove: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Lets nobody enrol at a bank any more; cards that were enrolled stay.")

    @Argument(help: "The bank's id.")
    var bsimID: String

    func run() throws {
      guard try BankDesk(Environment.ofProcess()).remove(bsimID, at: .now()) else {
        throw NotFound("No bank with this id is connected.")
      }
      print("\(bsimID) takes no enrolments any more.")
    }
  }
}

extension BankDesk {
  /// - Throws: ``ConfigurationError`` that names everything missing or malformed.
  init(_ variables: Environment) throws {
    var environment = variables
    let keys = environment.keyring(
      "SWITCHBOARD_CREDENTIAL_KEYS", "the keys that seal the banks' secrets")
    let connection = environment.connectionSettings()
    guard let keys, environment.complaints.isEmpty else {
      throw ConfigurationError(environment.complaints)
    }
    self.init(database: Database(connection), keys: keys)
  }
}
