import ArgumentParser
import Delivery
import Program
import Store

struct Banks: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Lists, adds and removes the banks at which people enroll their cards.",
    subcommands: [List.self, Add.self, Remove.self], defaultSubcommand: List.self)

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Lists the banks.")

    func run() throws {
      print(try BankDirectory(Environment.ofProcess()).list())
    }
  }

  struct Add: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Adds a bank, or changes the one with this id.",
      discussion: "The client secret is read as one line from standard input.")

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

    func run() throws {
      let banks = try BankDirectory(Environment.ofProcess())
      let bank = BankConnection(
        bsimID: bsimID, name: name, logoURL: logoURL, authorizationURL: authorizationURL,
        tokenURL: tokenURL, cardsURL: cardsURL, clientID: clientID, scope: scope)
      try banks.add(bank, secret: readLine() ?? "")
      print("\(bsimID) is connected.")
    }
  }

  struct Remove: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Stops enrollments at a bank. Cards that were enrolled stay.")

    @Argument(help: "The bank's id.")
    var bsimID: String

    func run() throws {
      guard try BankDirectory(Environment.ofProcess()).disconnect(bsimID) else {
        throw NotFound("No bank with this id is connected.")
      }
      print("\(bsimID) takes no more enrollments.")
    }
  }
}

extension BankDirectory {
  /// - Throws: ``ConfigurationError`` that names everything missing or malformed; ``SchemaMismatch``.
  init(_ variables: Environment) throws {
    var environment = variables
    let keys = environment.companionKeys()
    let records = try environment.openRecords()
    guard let keys else { throw ConfigurationError(environment.complaints) }
    self.init(records: records, keys: keys)
  }
}
