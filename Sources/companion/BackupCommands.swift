import ArgumentParser
import Base
import Delivery
import Glibc
import ProcessSupport
import Store

/// Options for the site's database and files. Both commands run as root.
struct SiteOptions: ParsableArguments {
  @Option(
    help:
      "Name of the database. By default that of the settings for a backup, and that of the backup for a restore."
  )
  var database: String?
  @Option(
    help: "Options file of MariaDB's clients, for a server on another host.", completion: .file())
  var defaultsFile: String?
  @Option(help: .hidden)
  var root = "/"

  func validate() throws {
    guard let name = database?.utf8 else { return }
    let isName = name.allSatisfy { $0.isAlphanumeric || $0 == UInt8(ascii: "_") }
    guard isName, (1...40).contains(name.count) else {
      throw ValidationError(
        "The name of a database has at most 40 letters, digits and underscores.")
    }
  }

  /// Replaces this program by the script of a command, which gets words of the form `NAME=VALUE`.
  /// No word holds a secret.
  ///
  /// - Throws: ``NotPossible``
  func run(script name: String, _ options: [(name: String, value: String?)]) throws {
    var environment = Environment.ofProcess()
    guard defaultsFile != nil || environment.optional("SWITCHBOARD_DB_HOST") == nil else {
      throw NotPossible(
        "The database is on another host. Name a file with the login of an administrator there: --defaults-file FILE"
      )
    }
    let login =
      defaultsFile.map { "--defaults-file=\($0)" }
      ?? environment.optional("SWITCHBOARD_DB_SOCKET").map { "--socket=\($0)" }
    let program = String(cString: realpath("/proc/self/exe", nil))
    let words =
      options + [
        ("companion", program), ("version", Product.version),
        ("schema_version", "\(Database.schemaVersion)"), ("root", root), ("client", login),
      ]
    // The folder as installed, and the one next to the folder of a build.
    let scripts = ["/../share/switchboard/", "/../../../Sources/companion/"].map {
      program.prefix(upTo: program.lastIndex(of: "/")!) + $0 + name
    }
    guard let script = scripts.first(where: { access($0, X_OK) == 0 }) else {
      throw NotPossible("The script \(scripts[0]) is missing. Install the package again.")
    }
    // The script needs signals that our caller may ignore or block: programs in a pipe end by them.
    signal(SIGPIPE, SIG_DFL)
    var none = sigset_t()
    sigemptyset(&none)
    sigprocmask(SIG_SETMASK, &none, nil)
    var arguments =
      [strdup(script)]
      + words.compactMap { name, value in value.map { strdup("\(name)=\($0)") } } + [nil]
    execv(script, &arguments)
    throw NotPossible("\(script) cannot be run: \(String(cString: strerror(errno))).")
  }
}

/// A requirement is missing. The description is whole sentences.
struct NotPossible: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

extension Bool {
  /// Value of an option of a script: nil if it is not set.
  fileprivate var word: String? { self ? "yes" : nil }
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
    var environment = Environment.ofProcess()
    let name = site.database ?? environment.optional("SWITCHBOARD_DB_NAME") ?? "switchboard"
    try site.run(
      script: "backup",
      recipient.map { ("recipients", "--recipient=\($0)") } + [
        ("recipients", recipientsFile.map { "--recipients-file=\($0)" }), ("to", to),
        ("database", name), ("json", json.word), ("dry_run", dryRun.word),
      ])
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

  func run() throws {
    try site.run(
      script: "restore",
      [
        ("file", file), ("identity", identity), ("database", site.database), ("schema", schema),
        ("replace", replace.word), ("accept_lost_keys", acceptLostKeys.word), ("yes", yes.word),
        ("json", json.word), ("dry_run", dryRun.word),
      ])
  }
}
