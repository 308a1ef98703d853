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
      print(try MerchantDirectory(Environment.ofProcess()).list())
    }
  }

  struct Add: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Adds a merchant and prints the API key, once.")

    @Argument(help: "Name of the merchant, 1 to 200 characters.")
    var name: String

    func validate() throws {
      let isName = (1...200).contains(name.unicodeScalars.count) && !name.hasControls
      guard isName, name == name.trimmed else {
        throw ValidationError(
          "A name has 1 to 200 characters, without control characters and without spaces around it."
        )
      }
    }

    func run() throws {
      print(try MerchantDirectory(Environment.ofProcess()).add(name))
    }
  }

  struct Revoke: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Revokes a merchant's API key.")

    @Argument(help: "The id of the merchant.")
    var id: String

    func run() throws {
      guard try MerchantDirectory(Environment.ofProcess()).revoke(id) else {
        throw NotFound("No merchant with this id has a valid key.")
      }
      print("Revoked.")
    }
  }
}

extension MerchantDirectory {
  /// - Throws: ``ConfigurationError`` that names everything missing or malformed; ``SchemaMismatch``.
  fileprivate init(_ variables: Environment) throws {
    var environment = variables
    self.init(records: try environment.openRecords())
  }
}
