import Administration
import ArgumentParser
import Store

extension OutboxState: ExpressibleByArgument {}

struct Outbox: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Lists, retries and discards mails and notifications.",
    subcommands: [List.self, Retry.self, Discard.self], defaultSubcommand: List.self)

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Lists mails and notifications, the latest due first.",
      discussion: "Example: switchboard outbox list --state dead --json")

    @Option(help: "open: they wait. dead: they were given up. delivered: they have gone.")
    var state = OutboxState.open
    @OptionGroup var limit: ListLimit
    @OptionGroup var output: Output

    func run() throws {
      let outbox = OutboxAdministration(records: try .ofCommand())
      output.print(try outbox.list(state, limit: limit.count))
    }
  }

  struct Retry: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Makes the next pass send a mail or notification.",
      discussion: """
        A notification that was given up is tried again until it expires. A mail that was given up has lost its content.
        Example: switchboard outbox retry 01890a5d-ac96-774b-bcce-b302099a8008
        """)

    @OptionGroup var message: MessageID
    @OptionGroup var rehearsal: Rehearsal
    @OptionGroup var output: Output

    func run() throws {
      let outbox = OutboxAdministration(records: try .ofCommand(isRehearsal: rehearsal.dryRun))
      try output.print(outbox.retry(message.id), orNotFound: MessageID.notFound)
    }
  }

  struct Discard: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Discards a waiting mail or notification.",
      discussion: """
        One that is being sent now still goes out.
        Example: switchboard outbox discard 01890a5d-ac96-774b-bcce-b302099a8008
        """)

    @OptionGroup var message: MessageID
    @OptionGroup var rehearsal: Rehearsal
    @OptionGroup var output: Output

    func run() throws {
      let outbox = OutboxAdministration(records: try .ofCommand(isRehearsal: rehearsal.dryRun))
      try output.print(outbox.discard(message.id), orNotFound: MessageID.notFound)
    }
  }

  struct MessageID: ParsableArguments {
    @Argument(help: "The id of the mail or notification, as the list shows it.")
    var id: String

    static let notFound = "No mail and no notification has this id."
  }
}
