import Administration
import ArgumentParser
import Base
import Store

struct Merchants: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Manages the merchants who take payments, and their webhooks.",
    subcommands: [
      List.self, Add.self, Set.self, RotateSecret.self, Webhooks.self, Resend.self, Revoke.self,
    ], defaultSubcommand: List.self)

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Lists the merchants.", discussion: "Example: switchboard merchants --json")

    @OptionGroup var output: Output

    func run() throws {
      output.print(try MerchantAdministration(records: .ofCommand()).list())
    }
  }

  struct Add: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Adds a merchant and prints the API key, once.",
      discussion: "Example: switchboard merchants add 'Corner Shop'")

    @Argument(help: "Name of the merchant, 1 to 200 characters.")
    var name: String
    @OptionGroup var rehearsal: Rehearsal
    @OptionGroup var output: Output

    func validate() throws {
      let isName = (1...200).contains(name.unicodeScalars.count) && !name.hasControls
      guard isName, name == name.trimmed else {
        throw ValidationError(
          "A name has 1 to 200 characters, without control characters and without spaces around it."
        )
      }
    }

    func run() throws {
      let merchants = MerchantAdministration(records: try .ofCommand(isRehearsal: rehearsal.dryRun))
      output.print(try merchants.add(name))
    }
  }

  struct Revoke: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Revokes a merchant's API key.",
      discussion: "Example: switchboard merchants revoke 01890a5d-ac96-774b-bcce-b302099a8011")

    @Argument(help: "The id of the merchant.")
    var id: String
    @OptionGroup var rehearsal: Rehearsal
    @OptionGroup var output: Output

    func run() throws {
      let merchants = MerchantAdministration(records: try .ofCommand(isRehearsal: rehearsal.dryRun))
      try output.print(
        merchants.revoke(id), orNotFound: "No merchant with this id has a valid key.")
    }
  }
}
