package import Base
import Cryptography
import Glibc
import Store

/// Restores a site from a backup.
///
/// Loads the dump into a new database first. Changes nothing else until the dump is loaded.
package struct Restore: Sendable {
  let administrator: DatabaseAdministrator
  let path: String
  let identity: String
  let files: ConfigurationFiles
  /// Path of schema.sql.
  let schema: String
  let now: Timestamp
  let content: BackupContent
  package let database: String
  /// State of ``database`` on the server: `none`, `empty` or `used`.
  let state: String

  /// Decrypts and checks the whole backup, and inspects the server. Changes nothing.
  ///
  /// - Parameters:
  ///   - identity: path of the file with the private key.
  ///   - database: name of the restored database; nil for the name in the backup.
  /// - Throws: ``BackupError``; ``PipelineError``.
  package init(
    of path: String, with identity: String, to database: String?,
    by administrator: DatabaseAdministrator, root: String, schema: String, at now: Timestamp
  ) throws {
    self.administrator = administrator
    self.path = path
    self.identity = identity
    files = ConfigurationFiles(root: root)
    self.schema = schema
    self.now = now
    content = try BackupContent(reading: path, with: identity)
    self.database = database ?? content.manifest.database
    guard DatabaseAdministrator.isName(self.database) else {
      throw BackupError.refused(
        "\(self.database.printable) is not a valid name for a database of Switchboard.")
    }
    state = try administrator.run(BackupScripts.state, ["name": self.database]).first ?? "none"
  }

  private var stamp: String { now.rfc3339.prefix(19).filter { $0.isNumber || $0 == "T" } }
  private var loading: String { "\(database)_restore_\(stamp)" }
  package var before: String { "\(database)_before_restore_\(stamp)" }

  /// Problems that prevent the restore, in whole sentences.
  ///
  /// - Parameters:
  ///   - isReplacing: true if a database with data may be replaced.
  ///   - isAcceptingLostKeys: true if sealed values may become unreadable.
  package func problems(isReplacing: Bool, isAcceptingLostKeys: Bool) throws -> [String] {
    var found: [String] = []
    if content.manifest.schemaVersion > Database.schemaVersion {
      found.append(
        "The backup has schema version \(content.manifest.schemaVersion), and these programs need \(Database.schemaVersion). "
          + "Install the release that made it (\(content.manifest.version)).")
    }
    if access(schema, R_OK) != 0 {
      found.append("\(schema) is missing. Name the schema.sql of this release with --schema.")
    }
    if !isAcceptingLostKeys { found += try lostKeys().map(Self.problem(ofLost:)) }
    let connected = try administrator.run(BackupScripts.connections, ["name": database])
    if !connected.isEmpty {
      let users = connected.map { $0.replacing("\t", with: "@") }.joined(separator: ", ")
      found.append(
        "\(users.printable) is connected to the database \(database). Stop the responders, companions and relays of all "
          + "hosts first, with their sockets and the timer; see the manual.")
    }
    found += runningUnits().map {
      "\($0) runs, and would use the database during the restore. Stop it: systemctl stop \($0)"
    }
    if state == "used", !isReplacing {
      found.append(
        "The database \(database) exists and has data. With --replace it is kept as \(before), and the backup takes its place."
      )
    }
    return found
  }

  private static func problem(ofLost key: String) -> String {
    "The backup holds values that only the key \(key) opens, and has no such key. If the key is lost, restore with "
      + "--accept-lost-keys, and then do what the manual says about lost keys."
  }

  private func lostKeys() throws -> [String] {
    try missingKeys(for: content.manifest.sealedWith, in: content.configuration)
  }

  /// Units of this host that use the database.
  private func runningUnits() -> [String] {
    guard files.root == "/", access("/run/systemd/system", F_OK) == 0 else { return [] }
    return [
      "switchboard-responder.socket", "switchboard-responder.service",
      "switchboard-companion.socket",
      "switchboard-companion.timer", "switchboard-companion.service", "switchboard-relay.socket",
      "switchboard-relay.service",
    ].filter { unit in
      // If systemctl is missing, no unit runs. It fails for a unit that does not run.
      guard
        var systemctl = try? Pipeline([["systemctl", "is-active", "--quiet", unit]], to: .nothing)
      else { return false }
      return (try? systemctl.finish()) != nil
    }
  }

  /// Runs the restore.
  ///
  /// - Parameter progress: called with the size of the loaded dump so far, in bytes.
  /// - Returns: the remaining steps for the administrator, in whole sentences.
  package func run(progress: (Int) -> Void = { _ in }) throws -> [String] {
    do {
      _ = try administrator.run(BackupScripts.make, ["name": loading])
      try load(progress)
    } catch {
      removeLoaded()
      throw BackupError.refused("The dump cannot be loaded. Nothing was changed. \(error)")
    }
    let kept: String?
    do { kept = try files.unpack(content.configuration, at: stamp) } catch {
      removeLoaded()
      throw error
    }
    do { try exchange() } catch {
      removeLoaded()
      throw BackupError.refused(
        "The restore is not complete. Do not start the programs. Repair the cause, then restore again with --replace. "
          + "\(error)")
    }
    return try remaining(kept)
  }

  private func removeLoaded() {
    // The earlier error holds the cause.
    _ = try? administrator.run(BackupScripts.remove, ["name": loading])
  }

  private func exchange() throws {
    _ = try administrator.run(
      BackupScripts.exchange, ["from": loading, "name": database, "before": before])
    // Creates views and rights, and upgrades an older schema to this version.
    let file = open(schema, O_RDONLY | O_CLOEXEC)
    defer { close(file) }
    var client = try Pipeline([administrator.client(of: database)], from: .file(file), to: .nothing)
    try client.finish()
    _ = try administrator.run(
      BackupScripts.close, ["detail": "the backup of \(content.manifest.madeAt)"], in: database)
  }

  private func load(_ progress: (Int) -> Void) throws {
    var client = try Pipeline([administrator.client(of: loading)], from: .us, to: .nothing)
    var size = 0
    let again: BackupContent
    do {
      again = try BackupContent(reading: path, with: identity) { piece in
        try client.write(piece)
        size += piece.count
        progress(size)
      }
    } catch PipelineError.endedEarly {
      try client.finish()  // throws the cause
      throw PipelineError.endedEarly
    }
    try client.finish()
    guard again.manifest.parts == content.manifest.parts else {
      throw BackupError.damaged("it was changed during the restore")
    }
  }

  private func remaining(_ kept: String?) throws -> [String] {
    let accounts = try administrator.run(BackupScripts.accounts, in: database)
    return [
      state == "none"
        ? nil : "The database that was there is now \(before). Drop it when you no longer need it.",
      kept.map {
        "The files that were replaced are in \($0). It holds secrets: remove it when you no longer need it."
      },
      accounts.count == 3
        ? nil
        : "The programs have no accounts at this database server yet: make them, see \"Make the database\" in the manual.",
      RestoredWebServer(root: files.root).reload(),
      "Start the programs: systemctl start switchboard-responder.socket switchboard-companion.socket "
        + "switchboard-relay.socket switchboard-responder.service switchboard-companion.timer",
      "Then run: switchboard check",
    ].compactMap { $0 }
  }
}
