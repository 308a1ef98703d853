import Administration
import ArgumentParser
import Store

struct Accounts: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Lists, shows, bans and deletes accounts.",
    subcommands: [List.self, Show.self, Ban.self, Unban.self, Delete.self],
    defaultSubcommand: List.self)

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Lists accounts by e-mail address.",
      discussion: "Example: switchboard accounts list --after ann@example.org --limit 20")

    @Option(help: "List only accounts whose e-mail address comes after this text.")
    var after = ""
    @OptionGroup var limit: ListLimit
    @OptionGroup var output: Output

    func run() throws {
      let accounts = AccountAdministration(records: try .ofCommand())
      output.print(try accounts.list(after: after, limit: limit.count))
    }
  }

  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Shows an account with its devices and sessions.",
      discussion: "Example: switchboard accounts show ann@example.org")

    @Argument(help: "E-mail address of the account.")
    var email: String
    @OptionGroup var limit: ListLimit
    @OptionGroup var output: Output

    func run() throws {
      let accounts = AccountAdministration(records: try .ofCommand())
      try output.print(
        accounts.show(email, limit: limit.count), orNotFound: AccountEmail.notFound)
    }
  }
}

struct Devices: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Lists the devices of an account.",
    discussion: """
      The phones that may reach the agent are listed by the command "pairings".
      Example: switchboard devices --email ann@example.org
      """)

  @OptionGroup var account: AccountEmail
  @OptionGroup var limit: ListLimit
  @OptionGroup var output: Output

  func run() throws {
    let accounts = AccountAdministration(records: try .ofCommand())
    try output.print(
      accounts.deviceReport(of: account.email, limit: limit.count),
      orNotFound: AccountEmail.notFound)
  }
}

struct Sessions: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Lists and ends the sessions of an account.",
    subcommands: [List.self, End.self], defaultSubcommand: List.self)

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Lists the sessions of an account that have not ended.",
      discussion: "Example: switchboard sessions --email ann@example.org")

    @OptionGroup var account: AccountEmail
    @OptionGroup var limit: ListLimit
    @OptionGroup var output: Output

    func run() throws {
      let accounts = AccountAdministration(records: try .ofCommand())
      try output.print(
        accounts.sessions(of: account.email, limit: limit.count),
        orNotFound: AccountEmail.notFound)
    }
  }

  struct End: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Ends a session, or all sessions of an account.",
      discussion: """
        It does what a sign-out in the app does: the next request is refused, and the device gets no more notifications. \
        With --email, browsers are signed out too.
        Example: switchboard sessions end 01890a5d-ac96-774b-bcce-b302099a8003
        Example: switchboard sessions end --email ann@example.org --dry-run
        """)

    @Argument(help: "The id of a session.")
    var id: String?
    @Option(help: "E-mail address of the account whose sessions all end.")
    var email: String?
    @OptionGroup var rehearsal: Rehearsal
    @OptionGroup var output: Output

    func validate() throws {
      guard (id == nil) != (email == nil) else {
        throw ValidationError("Give either the id of a session or --email.")
      }
    }

    func run() throws {
      let accounts = AccountAdministration(records: try .ofCommand(isRehearsal: rehearsal.dryRun))
      if let email {
        try output.print(accounts.endSessions(of: email), orNotFound: AccountEmail.notFound)
      } else if let id {
        try output.print(
          accounts.endSession(id), orNotFound: "No session with this id is alive.")
      }
    }
  }
}
