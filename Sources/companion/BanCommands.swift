import Administration
import ArgumentParser
import Store

extension Accounts {
  struct Ban: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Bans an account: signs it out everywhere and refuses sign-ins.",
      discussion: """
        The account gets no notifications. Nothing is deleted, and "accounts unban" opens it again. The owner is told by \
        mail, without the reason. Phones that may reach the agent belong to no account: see "pairings".
        Example: switchboard accounts ban ann@example.org --reason 'Sends spam' --dry-run
        """)

    @OptionGroup var subject: NamedAccount
    @OptionGroup var rehearsal: Rehearsal
    @OptionGroup var output: Output

    func run() throws {
      try output.print(
        subject.directory(rehearsal).ban(subject.email, because: subject.reason),
        orNotFound: "No account has this e-mail address, or it is banned already.")
    }
  }

  struct Unban: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Opens a banned account again.",
      discussion: """
        The owner is told by mail, without the reason.
        Example: switchboard accounts unban ann@example.org --reason 'It was not her'
        """)

    @OptionGroup var subject: NamedAccount
    @OptionGroup var rehearsal: Rehearsal
    @OptionGroup var output: Output

    func run() throws {
      try output.print(
        subject.directory(rehearsal).unban(subject.email, because: subject.reason),
        orNotFound: "No account has this e-mail address, or it is not banned.")
    }
  }

  struct Delete: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Deletes an account with everything that it has.",
      discussion: """
        It does what the owner can do at the page /account. Payments stay without the account. The owner is told by \
        mail, without the reason. The owner of the address can sign up again: to prevent that, ban the account.
        Example: switchboard accounts delete ann@example.org --reason 'She asked for it' --dry-run
        """)

    @OptionGroup var subject: NamedAccount
    @OptionGroup var rehearsal: Rehearsal
    @OptionGroup var output: Output

    func run() throws {
      try output.print(
        subject.directory(rehearsal).delete(subject.email, because: subject.reason),
        orNotFound: AccountEmail.notFound)
    }
  }
}

/// Account that a command changes, and the reason.
struct NamedAccount: ParsableArguments {
  @Argument(help: "E-mail address of the account.")
  var email: String
  @Option(help: "Reason for the audit log: 1 to 170 characters.")
  var reason: String

  func validate() throws {
    guard (1...170).contains(reason.unicodeScalars.count),
      reason.contains(where: { !$0.isWhitespace })
    else { throw ValidationError("--reason must have 1 to 170 characters.") }
  }

  func directory(_ rehearsal: Rehearsal) throws -> AccountAdministration {
    AccountAdministration(records: try .ofCommandWithMails(isRehearsal: rehearsal.dryRun))
  }
}
