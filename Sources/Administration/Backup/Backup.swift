package import Base
import Cryptography
import Delivery
import Store

/// Makes one encrypted file of everything that a site needs: the database, the keys and other
/// secrets, and the configuration. None of them is useful without the others.
package struct Backup: Sendable {
  let administrator: DatabaseAdministrator
  let database: String
  let files: ConfigurationFiles
  /// Arguments of age that name the recipients of the encrypted file.
  let recipients: [String]

  /// - Parameters:
  ///   - root: the folder that contains `etc/switchboard`, usually `/`.
  ///   - recipients: public keys of age.
  ///   - recipientsFile: path of a file with such keys.
  package init(
    of database: String, by administrator: DatabaseAdministrator, root: String,
    for recipients: [String], in recipientsFile: String?
  ) {
    self.administrator = administrator
    self.database = database
    files = ConfigurationFiles(root: root)
    self.recipients =
      recipients.flatMap { ["--recipient", $0] }
      + (recipientsFile.map { ["--recipients-file", $0] } ?? [])
  }

  /// Reports what ``make(to:at:progress:)`` would save, and checks everything that it needs.
  package func plan(at now: Timestamp) throws -> BackupReport {
    let archive = try files.pack()
    var age = try Pipeline([["age", "--encrypt"] + recipients], from: .nothing, to: .nothing)
    try age.finish()
    return try report(try manifest(of: archive, at: now), archive)
  }

  /// Writes the backup to `path`, which must not exist. The file gets this name only when it is
  /// complete.
  ///
  /// - Parameter progress: called with the size of the dump so far, in bytes.
  /// - Throws: ``BackupError``; ``PipelineError``.
  package func make(
    to path: String, at now: Timestamp, progress: (Int) -> Void = { _ in }
  ) throws -> BackupReport {
    let archive = try files.pack()
    var manifest = try manifest(of: archive, at: now)
    var writer = try BackupWriter(to: path, for: recipients, at: now)
    try writer.add(BackupFile.configuration, archive)
    var dump = try Pipeline([try administrator.dump(database)])
    var (number, size, tail): (Int, Int, [UInt8]) = (0, 0, [])
    while case let piece = dump.read(atMost: BackupFile.pieceSize), !piece.isEmpty {
      try writer.add(BackupFile.dumpPart(number), piece)
      (number, size) = (number + 1, size + piece.count)
      tail = Array((tail + piece.suffix(200)).suffix(200))
      progress(size)
    }
    try dump.finish()
    guard BackupFile.isEnd(ofDump: tail) else {
      throw BackupError.refused(
        "mariadb-dump ended before it had written everything. No backup was made.")
    }
    manifest.parts = writer.parts
    try writer.finish(with: try manifest.encoded())
    return try report(manifest, archive)
  }

  private func manifest(of archive: [UInt8], at now: Timestamp) throws -> BackupManifest {
    let versions = try administrator.run(BackupScripts.schemaVersion, in: database)
    guard let version = versions.first.flatMap({ Int64($0) }) else {
      throw BackupError.refused("The database \(database) has no schema of Switchboard.")
    }
    let (counts, seals): (BackupCounts, [String])
    do {
      counts = try self.counts()
      seals = try administrator.run(BackupScripts.seals, in: database)
    } catch {
      throw BackupError.refused(
        "The schema of the database \(database) is too old for this command. Back it up by mariadb-dump. \(error)"
      )
    }
    return BackupManifest(
      madeAt: now.rfc3339, version: Product.version, host: hostName(),
      database: database, schemaVersion: version, counts: counts, sealedWith: seals,
      files: try Tar.entries(of: archive).map(\.name).filter { !$0.hasSuffix("/") }, parts: [])
  }

  private func counts() throws -> BackupCounts {
    let counts = try administrator.run(BackupScripts.counts, in: database).map { Int($0) ?? 0 }
    return BackupCounts(
      sessions: counts[0], pairedPhones: counts[1], openPayments: counts[2], unsentMails: counts[3])
  }

  private func report(_ manifest: BackupManifest, _ archive: [UInt8]) throws -> BackupReport {
    BackupReport(
      manifest: manifest, missingKeys: try missingKeys(for: manifest.sealedWith, in: archive))
  }
}

/// Contents of a backup.
package struct BackupReport: Sendable {
  package let manifest: BackupManifest
  /// Keys that sealed values in the database need, but that are missing in the files.
  package let missingKeys: [String]

  package var sentences: [String] {
    let counts = manifest.counts
    return [
      "The database \(manifest.database), schema version \(manifest.schemaVersion), as it is at \(manifest.madeAt): "
        + "\(counts.sessions) signed-in phones, \(counts.pairedPhones) paired phones.",
      "\(manifest.files.count) files with secrets and configuration.",
    ]
      + missingKeys.map {
        "WARNING: The database holds values that only the key \($0) opens, and that file does not have this key. "
          + "Put the key back, then back up again; see \"If keys are lost\" in the manual."
      }
  }

  package func json(file: String) -> String {
    String(
      decoding: JSONWriter.object { json in
        json.member("file", file)
        json.member("made_at", manifest.madeAt)
        json.member("database", manifest.database)
        json.member("schema_version", manifest.schemaVersion)
        json.member("sessions", Int64(manifest.counts.sessions))
        json.member("paired_phones", Int64(manifest.counts.pairedPhones))
        json.member("dump_bytes", Int64(manifest.dumpSize))
        json.member("files", json: JSONWriter.array(of: manifest.files))
        json.member("missing_keys", json: JSONWriter.array(of: missingKeys))
      }, as: UTF8.self)
  }
}

extension BackupManifest {
  /// Size of the dump in bytes.
  package var dumpSize: Int {
    parts.filter { $0.name != BackupFile.configuration }.reduce(0) { $0 + $1.size }
  }
}
