import Administration
import ArgumentParser
import Base
import Glibc
import ProcessSupport
import SharedSettings

/// Options for the site's database and files. Both commands run as root.
struct SiteOptions: ParsableArguments {
  @Option(help: "Name of the database. By default SWITCHBOARD_DB_NAME, or else switchboard.")
  var database: String?
  @Option(
    help: "Options file of MariaDB's clients, for a server on another host.", completion: .file())
  var defaultsFile: String?
  @Option(help: .hidden)
  var root = "/"

  func validate() throws {
    if let database, !DatabaseAdministrator.isName(database) {
      throw ValidationError(
        "The name of a database has at most 40 letters, digits and underscores.")
    }
  }

  /// - Throws: ``NotPossible`` if we are not root, or if a program such as `age` is missing.
  func prepare() throws {
    signal(SIGPIPE, SIG_IGN)
    guard root != "/" || geteuid() == 0 else {
      throw NotPossible(
        "Only root can read the secrets and the whole database: run this command as root.")
    }
    let missing = DatabaseAdministrator.missingPackages.joined(separator: " ")
    guard missing.isEmpty else {
      throw NotPossible("Programs are missing. Install them: apt-get install \(missing)")
    }
  }

  /// - Throws: ``NotPossible`` if the server is on another host and no login is given.
  func administrator() throws -> DatabaseAdministrator {
    var environment = Environment.ofProcess()
    guard defaultsFile != nil || environment.optional("SWITCHBOARD_DB_HOST") == nil else {
      throw NotPossible(
        "The database is on another host. Name a file with the login of an administrator there: --defaults-file FILE"
      )
    }
    return DatabaseAdministrator(
      optionsFile: defaultsFile, socket: environment.optional("SWITCHBOARD_DB_SOCKET"))
  }
}

/// A requirement is missing. The description is whole sentences.
struct NotPossible: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

struct Backup: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Backs up database, keys and configuration to one encrypted file.",
    discussion: """
      The file is encrypted by age for a public key. Make the key pair elsewhere, with "age-keygen", and keep the private \
      key where this server cannot read it.
      Example: switchboard backup --to /var/backups/switchboard-2026-11-22.age --recipient age1…
      """)

  @Option(help: "The file to write. It must not exist.", completion: .file())
  var to: String
  @Option(help: "A public key of age, \"age1…\". May be repeated.")
  var recipient: [String] = []
  @Option(help: "A file with public keys, one on each line.", completion: .file())
  var recipientsFile: String?
  @OptionGroup var site: SiteOptions
  @ArgumentParser.Flag(help: "Print the result as JSON.")
  var json = false
  @ArgumentParser.Flag(help: "Check everything and print what would be backed up. Write nothing.")
  var dryRun = false

  func validate() throws {
    guard !recipient.isEmpty || recipientsFile != nil else {
      throw ValidationError(
        "Name a public key with --recipient, or a file of them with --recipients-file.")
    }
  }

  func run() throws {
    try site.prepare()
    var environment = Environment.ofProcess()
    let backup = Administration.Backup(
      of: site.database ?? environment.optional("SWITCHBOARD_DB_NAME") ?? "switchboard",
      by: try site.administrator(), root: site.root, for: recipient, in: recipientsFile)
    let progress = ProgressLine("dumped")
    let report =
      dryRun
      ? try backup.plan(at: .now()) : try backup.make(to: to, at: .now(), progress: progress.show)
    progress.end()
    if json {
      print(report.json(file: to))
    } else {
      for sentence in report.sentences { print(sentence) }
      print(dryRun ? "Nothing was written." : "The backup is \(to).")
    }
    if !report.missingKeys.isEmpty { throw ExitCode.failure }
  }
}

struct Restore: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Brings database, keys and configuration back from a backup.",
    discussion: """
      Stop the programs first. The command says what it will do and whom it signs out, and asks. Until the whole backup has \
      been checked and loaded, nothing is changed.
      Example: switchboard restore /var/backups/switchboard-2026-11-22.age --identity /root/key.txt
      """)

  @Argument(help: "The backup.", completion: .file())
  var file: String
  @Option(help: "The file with the private key of age.", completion: .file())
  var identity: String
  @OptionGroup var site: SiteOptions
  @Option(help: "The schema.sql of this release.", completion: .file())
  var schema: String?
  @ArgumentParser.Flag(help: "Replace a database that has data; it is kept under another name.")
  var replace = false
  @ArgumentParser.Flag(help: "Restore also where the backup lacks keys that its database needs.")
  var acceptLostKeys = false
  @ArgumentParser.Flag(help: "Do not ask.")
  var yes = false
  @ArgumentParser.Flag(help: "Print the result as JSON. Needs --yes or --dry-run.")
  var json = false
  @ArgumentParser.Flag(help: "Check everything and print what would be done. Change nothing.")
  var dryRun = false

  func validate() throws {
    if json, !yes, !dryRun { throw ValidationError("--json needs --yes or --dry-run.") }
  }

  private var schemaPath: String {
    let installed = "/usr/share/switchboard/schema.sql"
    return schema ?? (access(installed, R_OK) == 0 ? installed : "schema.sql")
  }

  func run() throws {
    try site.prepare()
    let restore = try Administration.Restore(
      of: file, with: identity, to: site.database, by: try site.administrator(), root: site.root,
      schema: schemaPath, at: .now())
    let problems = try restore.problems(
      isReplacing: replace, isAcceptingLostKeys: acceptLostKeys)
    if !json { for sentence in try restore.plan() { print(sentence) } }
    if dryRun || !problems.isEmpty {
      if json { print(try restore.json(done: false, problems: problems, remaining: [])) }
      if !problems.isEmpty {
        throw NotPossible((problems + ["Nothing was changed."]).joined(separator: "\n"))
      }
      return
    }
    guard yes || isConfirmed() else { throw NotPossible("Nothing was changed.") }
    let progress = ProgressLine("loaded")
    let remaining = try restore.run(progress: progress.show)
    progress.end()
    if json {
      print(try restore.json(done: true, problems: [], remaining: remaining))
    } else {
      for sentence in ["Restored."] + remaining { print(sentence) }
    }
  }

  private func isConfirmed() -> Bool {
    print("Restore? Type yes: ", terminator: "")
    fflush(nil)
    return readLine() == "yes"
  }
}

/// Shows the progress of long work on a terminal.
private struct ProgressLine {
  private let isTerminal = isatty(STDERR_FILENO) == 1
  private let word: String

  init(_ word: String) { self.word = word }

  /// - Parameter bytes: number of bytes so far.
  func show(_ bytes: Int) {
    if isTerminal { write("\r\(bytes >> 20) MiB \(word)") }
  }

  func end() {
    if isTerminal { write("\r\u{1B}[K") }
  }

  private func write(_ text: String) {
    let bytes = Array(text.utf8)
    _ = Glibc.write(STDERR_FILENO, bytes, bytes.count)
  }
}
