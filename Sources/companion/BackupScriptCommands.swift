import Administration
import ArgumentParser
import ProcessSupport
import Store

/// Prints statements for the scripts `backup` and `restore`.
struct BackupSQL: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "backup-sql", abstract: "Prints the statements of a step of a backup or restore.",
    discussion: "Example: switchboard-companion backup-sql counts", shouldDisplay: false)

  @Argument(help: "The step.")
  var step: String

  func run() throws {
    let statements: [String: String] = [
      "schema-version": "\(BackupScripts.schemaVersion)", "counts": "\(BackupScripts.counts)",
      "renewals": "\(BackupScripts.renewals)", "views": "\(BackupScripts.views)",
      "connections": "\(BackupScripts.connections)", "state": "\(BackupScripts.state)",
      "make": "\(BackupScripts.make)", "remove": "\(BackupScripts.remove)",
      "exchange": "\(BackupScripts.exchange)", "close": BackupScripts.close,
      "seals": BackupScripts.seals, "accounts": "\(BackupScripts.accounts)",
    ]
    guard let statements = statements[step] else {
      throw ValidationError("There is no step \(step).")
    }
    print(statements)
  }
}

/// Compares keys for the scripts `backup` and `restore`.
struct MissingKeys: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "missing-keys",
    abstract: "Prints the keys that sealed values need and that two files lack.",
    discussion: """
      Reads the prefixes of the values from its input.
      Example: switchboard-companion missing-keys companion-keys credential-keys
      """, shouldDisplay: false)

  @Argument(help: "The file of the companion's keys.")
  var companionKeys: String
  @Argument(help: "The file of the keys of credentials.")
  var credentialKeys: String

  func run() {
    var seals: [String] = []
    while let seal = readLine() { seals.append(seal) }
    let missing = missingKeys(
      for: seals.filter { !$0.isEmpty },
      companionKeys: Environment.content(ofFile: companionKeys),
      credentialKeys: Environment.content(ofFile: credentialKeys))
    for key in missing { print(key) }
  }
}
