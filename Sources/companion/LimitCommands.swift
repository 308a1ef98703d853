import Administration
import ArgumentParser
import Store

struct Limits: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Shows and lifts limits that callers have used up.",
    subcommands: [Show.self, Lift.self], defaultSubcommand: Show.self)

  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Shows the limits that are used up now.",
      discussion: """
        The manual's page "Security" explains each limit.
        Example: switchboard limits
        Example: switchboard limits show --subject ann@example.org --all
        """)

    @Option(help: "Show only this limit, such as code-email.")
    var name: String?
    @Option(
      help: "Show only counts of this e-mail address, account, device, user or address.")
    var subject: String?
    @ArgumentParser.Flag(help: "Show also limits that are not used up.")
    var all = false
    @OptionGroup var limit: ListLimit
    @OptionGroup var output: Output

    func run() throws {
      let limits = LimitAdministration(records: try .ofCommand())
      output.print(
        try limits.show(named: name, of: subject, isUsedUp: !all, limit: limit.count))
    }
  }

  struct Lift: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Deletes a count: the caller may try again at once.",
      discussion: "Example: switchboard limits lift code-email ann@example.org")

    @Argument(help: "The name of the limit.")
    var name: String
    @Argument(
      help:
        "Subject of the count, as the list shows it. Without its network, the counts with each network are deleted."
    )
    var subject: [String]
    @OptionGroup var rehearsal: Rehearsal
    @OptionGroup var output: Output

    func run() throws {
      let limits = LimitAdministration(records: try .ofCommand(isRehearsal: rehearsal.dryRun))
      try output.print(
        limits.lift(name, of: subject.joined(separator: " ")),
        orNotFound: "Nothing is counted under this name for this subject.")
    }
  }
}
