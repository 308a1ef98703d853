import Cryptography
import Glibc

/// Secrets and configuration of a site, packed and unpacked by tar.
struct ConfigurationFiles: Sendable {
  /// `/`, or the folder of a site that `nginx/run` started.
  let root: String

  /// Files of a site, relative to ``root``. A star stands for any name.
  private static let patterns = [
    "etc/switchboard", "etc/nginx/sites-available/switchboard",
    "etc/nginx/sites-enabled/switchboard",
    "etc/nginx/switchboard/pairing.allow", "etc/systemd/system/switchboard-*.d", "secrets",
  ]
  /// Name prefix of the archive with the files that a restore replaces.
  private static let kept = "before-restore-"
  private static let withoutKept = ["--exclude=\(kept)*"]

  /// A site of `nginx/run` keeps its secrets in the folder itself.
  private var configurationFolder: String {
    access("\(root)/etc/switchboard", F_OK) == 0 ? "etc/switchboard" : "secrets"
  }

  /// The files and folders that exist, without the first slash.
  private func existing() -> [String] {
    var found = glob_t()
    defer { globfree(&found) }
    for (number, pattern) in Self.patterns.enumerated() where root != "/" || pattern != "secrets" {
      glob("\(root)/\(pattern)", number == 0 ? 0 : GLOB_APPEND, nil, &found)
    }
    return (0..<Int(found.gl_pathc)).map {
      String(String(cString: found.gl_pathv[$0]!).dropFirst(root.count).drop { $0 == "/" })
    }
  }

  /// Packs all files of the site.
  ///
  /// - Throws: ``BackupError/refused(_:)`` if there is no file.
  func pack() throws -> [UInt8] {
    let paths = existing()
    guard !paths.isEmpty else {
      throw BackupError.refused(
        "There is no configuration to back up: \(root)/etc/switchboard is missing.")
    }
    return try pack(paths, leavingOut: Self.withoutKept)
  }

  private func pack(_ paths: [String], leavingOut options: [String]) throws -> [UInt8] {
    var tar = try Pipeline([
      ["tar", "--create", "--format=ustar", "--directory=\(root)"] + options + ["--"] + paths
    ])
    let archive = tar.readToEnd()
    try tar.finish()
    return archive
  }

  /// Extracts the files of `archive` to their places, with their owners and modes.
  ///
  /// - Parameter time: used in the name of the archive of the replaced files.
  /// - Returns: path of the archive of the replaced files; nil if no file was replaced.
  /// - Throws: ``BackupError/refused(_:)`` if the archive holds a file that does not belong to a
  ///   site; no file is changed then.
  func unpack(_ archive: [UInt8], at time: String) throws -> String? {
    let names = try Tar.entries(of: archive).map(\.name)
    let folders = ["etc/switchboard/", "etc/nginx/", "etc/systemd/system/switchboard-", "secrets/"]
    if let stranger = names.first(where: { name in
      !folders.contains { name.hasPrefix($0) } || name.split(separator: "/").contains("..")
    }) {
      throw BackupError.refused(
        "The backup holds \(stranger.printable), which is not a file of a site. Switchboard did not make this backup. Nothing was changed."
      )
    }
    let old = existing()
    let replaced = old.isEmpty ? archive : try pack(old, leavingOut: Self.withoutKept)
    let kept = replaced == archive ? nil : "\(configurationFolder)/\(Self.kept)\(time).tar"
    if let kept { try writeArchive(replaced, in: "\(root)/\(kept)") }
    var tar = try Pipeline(
      [["tar", "--extract", "--preserve-permissions", "--directory=\(root)"]], from: .us,
      to: .nothing)
    do {
      try? tar.write(archive)  // if tar ends early, `finish` throws the cause
      try tar.finish()
    } catch {
      throw BackupError.refused(
        "Not every file could be put back; the database is as it was. "
          + (kept.map { "What was there is in \(root)/\($0). " } ?? "") + "\(error)")
    }
    return kept.map { "\(root == "/" ? "" : root)/\($0)" }
  }

  private func writeArchive(_ archive: [UInt8], in path: String) throws {
    let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    let isWritten =
      file >= 0
      && archive.withUnsafeBytes { write(file, $0.baseAddress, $0.count) } == archive.count
      && fsync(file) == 0
    if file >= 0 { close(file) }
    guard isWritten else {
      unlink(path)
      throw BackupError.refused("\(path) cannot be written. No file was replaced.")
    }
  }
}

/// Keys that sealed values in the database need and that an archive of the configuration lacks.
func missingKeys(for seals: [String], in archive: [UInt8]) throws -> [String] {
  let entries = try Tar.entries(of: archive)
  func text(_ name: String) -> String {
    let file = entries.first { $0.name.hasSuffix("secrets/\(name)") }
    return String(decoding: file?.content ?? [], as: UTF8.self)
  }
  // A missing or malformed file holds no key, so all keys that should be in it are reported.
  let boxes = (try? BoxKeys(parsing: text("companion-keys")))?.publicKeys.ids ?? []
  let keyring = try? Keyring(parsing: text("credential-keys"))
  return seals.compactMap { seal in
    if seal.hasPrefix("box:") {
      let id = String(seal.dropFirst(4))
      return boxes.contains(id) ? nil : "\(id) of companion-keys"
    }
    return keyring?[seal] != nil ? nil : "\(seal) of credential-keys"
  }
}
