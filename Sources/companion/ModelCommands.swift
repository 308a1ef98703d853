import Administration
import ArgumentParser
import Store

struct Models: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Lists and sets the catalog of models among which the apps choose.",
    subcommands: [List.self, Set.self], defaultSubcommand: List.self)

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Lists the models in their order.", discussion: "Example: switchboard models")

    @OptionGroup var output: Output

    func run() throws {
      output.print(try ModelAdministration(records: .ofCommand()).list())
    }
  }

  struct Set: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Replaces the catalog.",
      discussion: """
        Devices that prefer a removed model keep it until they choose again.
        Example: switchboard models set gpt-4o-mini claude-3.5-sonnet
        Example: switchboard models set --any
        """)

    @Argument(help: "The names, in their order.")
    var names: [String] = []
    @ArgumentParser.Flag(help: "Empty the catalog: the apps may choose any name.")
    var any = false
    @OptionGroup var rehearsal: Rehearsal
    @OptionGroup var output: Output

    func validate() throws {
      guard names.isEmpty == any else {
        throw ValidationError("Give either the names of models or --any.")
      }
    }

    func run() throws {
      let models = ModelAdministration(records: try .ofCommand(isRehearsal: rehearsal.dryRun))
      output.print(try models.set(names))
    }
  }
}
