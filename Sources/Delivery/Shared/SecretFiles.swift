import Base
import Glibc

/// The files of this host that hold secrets. Nobody but their owner and group may read them.
package struct SecretFiles: Sendable, Equatable {
  /// Holds nothing but secrets, and two public keys; nil where no such folder is known.
  private let folder: String?
  /// Elsewhere.
  private let files: [String]

  /// - Parameters:
  ///   - folder: the files in it count, and settings in the folder around it, should they hold a secret.
  ///   - files: further ones.
  package init(in folder: String? = nil, files: [String] = []) {
    self.folder = folder
    self.files = files
  }

  /// Whether no such file is known.
  var isEmpty: Bool { folder == nil && files.isEmpty }

  /// The paths of those that anybody on this host can read, in order.
  var exposed: [String] {
    let secrets = folder.map { folder in Self.names(in: folder).map { "\(folder)/\($0)" } } ?? []
    let settings = folder.map(Self.settings(around:)) ?? []
    return Set((secrets + files).filter(isOpenToAnybody) + settings.filter(isExposedSetting))
      .sorted()
  }

  /// Names them, each folder once; nil where there is none.
  var problem: String? {
    let folders = Dictionary(grouping: exposed) { path in
      path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ""
    }
    if folders.isEmpty { return nil }
    let texts = folders.sorted { $0.key < $1.key }.map { folder, paths in
      let names = paths.map { String($0.dropFirst(folder.utf8.count + 1)) }
      return "\(names.joined(separator: ", ")) in \(folder)"
    }
    return "Anybody on this host can read \(texts.joined(separator: "; "))."
  }

  // MARK: Which files there are

  private static let publicNames: Set = ["companion-public-keys", "vapid-public-key"]

  /// What `setup` and the manual put there: a folder that does not show its names may let them be read all the same.
  private static let usualNames: Set = [
    "apns-apps", "apns-private-key", "companion-keys", "credential-keys", "database-companion",
    "database-password", "database-relay", "database-responder", "fcm-service-account", "hmac-keys",
    "jwt-keys", "master-api-key", "vapid-key",
  ]

  private static func names(in folder: String) -> Set<String> {
    guard let directory = opendir(folder) else { return usualNames }
    defer { closedir(directory) }
    var names = usualNames
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
        name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if !name.hasPrefix(".") { names.insert(name) }
    }
    return names.subtracting(publicNames)
  }

  private static func settings(around folder: String) -> [String] {
    let parent = folder.lastIndex(of: "/").map { String(folder[..<$0]) } ?? ""
    return ["", "-responder", "-companion", "-relay"].map { "\(parent)/environment\($0)" }
  }
}

/// Variables that hold a secret.
private let secretVariables: Set<Substring> = [
  "SWITCHBOARD_JWT_KEYS", "SWITCHBOARD_HMAC_KEYS", "SWITCHBOARD_CREDENTIAL_KEYS",
  "SWITCHBOARD_COMPANION_KEYS", "SWITCHBOARD_DB_PASSWORD", "MASTER_API_KEY", "APNS_PRIVATE_KEY",
  "APNS_APPS", "FCM_SERVICE_ACCOUNT", "WEBPUSH_VAPID_KEY",
]

/// Whether a file of settings gives a value to a variable that holds a secret, and anybody can read it.
private func isExposedSetting(_ path: String) -> Bool {
  guard isOpenToAnybody(path), let file = fopen(path, "re") else { return false }
  defer { fclose(file) }
  var line = [CChar](repeating: 0, count: 4096)
  while fgets(&line, CInt(line.count), file) != nil {
    let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    let parts = text.split(separator: "=", maxSplits: 1)
    guard parts.count == 2, secretVariables.contains(parts[0].drop { $0 == " " || $0 == "\t" })
    else { continue }
    if parts[1].utf8.contains(where: { !"\"' \t\r\n".utf8.contains($0) }) { return true }
  }
  return false
}

/// Whether every user of this host can read or replace the content of `path`: its mode says so, and each folder on the
/// way lets everybody through.
private func isOpenToAnybody(_ path: String) -> Bool {
  // What we cannot reach, others cannot.
  guard let resolved = realpath(path, nil) else { return false }
  defer { free(resolved) }
  let name = String(cString: resolved)
  guard let mode = fileMode(of: name), mode & S_IFMT == S_IFREG, mode & (S_IROTH | S_IWOTH) != 0
  else { return false }
  let ends = name.indices.filter { name[$0] == "/" && $0 > name.startIndex }
  return ends.allSatisfy { end in
    fileMode(of: String(name[..<end])).map { $0 & S_IXOTH != 0 } ?? false
  }
}

private func fileMode(of path: String) -> mode_t? {
  var file = stat()
  return stat(path, &file) == 0 ? file.st_mode : nil
}
