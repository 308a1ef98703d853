import ArgumentParser
import Base
import Delivery
import Program
import Store

struct Merchants: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Lists, adds and revokes the merchants who take payments.",
    subcommands: [List.self, Add.self, Revoke.self], defaultSubcommand: List.self)

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Lists the merchants.")

    func run() throws {
      print(try MerchantDesk(Environment.ofProcess()).list())
    }
  }

  struct Add: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Adds a merchant and prints the API key, once.")

    @Argument(help: "What the merchant is called, 1 to 200 characters.")
    var name: String

    func validate() throws {
      let isName = (1...200).contains(name.unicodeScalars.count) && !name.hasControls
      guard isName, name == name.trimmed else {
        throw ValidationError(
          "A name has 1 to 200 characters, no control among them, no space around.")
      }
    }

    func run() throws {
      print(try MerchantDesk(Environment.ofProcess()).add(name, at: .now()))
    }
  }

  struct Revoke: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Makes a merchant's API key good for nothing.")

    @Argument(help: "The id of the merchant.")
    var id: String

    func run() throws {
      guard try MerchantDesk(Environment.ofProcess()).revoke(id, at: .now()) else {
        throw NotFound("No merchant has this id and a good key.")
      }
      print("It is revoked.")
    }
  }
}

extension MerchantDesk {
  /// - Throws: ``ConfigurationError`` that names everything missing or malformed.
  fileprivate init(_ variables: Environment) throws {
    var environment = variables
    let connection = environment.connectionSettings()
    guard environment.complaints.isEmpty else { throw ConfigurationError(environment.complaints) }
    self.init(database: Database(connection))
  }
}
