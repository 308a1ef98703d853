import Administration
import ArgumentParser
import Store

struct Turns: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "turns",
    abstract: "Lists the users of online-go.com, and manages the API keys of their apps.",
    subcommands: [Users.self, Keys.self])

  struct Users: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Lists the users of online-go.com who are polled.",
      discussion: "Example: switchboard turns users --after 1000 --limit 20")

    @Option(help: "List only users with ids greater than this.")
    var after: Int64 = 0
    @OptionGroup var limit: ListLimit
    @OptionGroup var output: Output

    func validate() throws {
      guard (0..<Int64.max).contains(after) else {
        throw ValidationError("--after must be the id of a user of online-go.com.")
      }
    }

    func run() throws {
      let turns = TurnAdministration(records: try .ofCommand())
      output.print(try turns.users(after: after, limit: limit.count))
    }
  }

  struct Keys: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Lists and revokes API keys.", subcommands: [List.self, Revoke.self],
      defaultSubcommand: List.self)

    struct List: ParsableCommand {
      static let configuration = CommandConfiguration(
        abstract: "Lists API keys by their first 8 characters.",
        discussion: "Example: switchboard turns keys --user 1234")

      @Option(help: "Id of the user of online-go.com whose keys are listed.")
      var user: Int64?
      @OptionGroup var limit: ListLimit
      @OptionGroup var output: Output

      func run() throws {
        let turns = TurnAdministration(records: try .ofCommand())
        output.print(try turns.keys(of: user, limit: limit.count))
      }
    }

    struct Revoke: ParsableCommand {
      static let configuration = CommandConfiguration(
        abstract: "Revokes an API key. The app is refused from its next request on.",
        discussion: "Example: switchboard turns keys revoke Ab3dEf9h --user 1234")

      @Argument(help: "The first 8 characters of the key, as the list shows them.")
      var key: String
      @Option(help: "Id of the user of online-go.com whose key it is.")
      var user: Int64
      @OptionGroup var rehearsal: Rehearsal
      @OptionGroup var output: Output

      func run() throws {
        let turns = TurnAdministration(records: try .ofCommand(isRehearsal: rehearsal.dryRun))
        try output.print(
          turns.revokeKey(beginning: key, of: user),
          orNotFound: "This user has no valid key with this beginning.")
      }
    }
  }
}
