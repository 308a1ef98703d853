import Base
import Glibc

/// Files of this host that hold secrets. Only their owner and group may read them.
package struct SecretFiles: Sendable, Equatable {
  /// Folder that holds only secrets and two public keys; nil if unknown.
  private let folder: String?
  /// Files outside of the folder.
  private let files: [String]

  /// - Parameters:
  ///   - folder: includes its files, and the settings in its parent folder if they hold a secret.
  ///   - files: further files.
  package init(in folder: String? = nil, files: [String] = []) {
    self.folder = folder
    self.files = files
  }

  /// Whether no file of secrets is known.
  package var isEmpty: Bool { folder == nil && files.isEmpty }

  /// Sorted paths of the files that every user of this host can read.
  var exposed: [String] {
    let secrets = folder.map { folder in Self.names(in: folder).map { "\(folder)/\($0)" } } ?? []
    let settings = folder.map(Self.settings(around:)) ?? []
    return Set((secrets + files).filter(isOpenToAnybody) + settings.filter(isExposedSetting))
      .sorted()
  }

  /// Sentence with the exposed files, grouped by folder; nil if there are none.
  package var problem: String? {
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

  // MARK: Files of secrets

  private static let publicNames: Set = ["companion-public-keys", "vapid-public-key"]

  /// Files that `setup` and the manual put there. They may be readable even if the folder cannot be
  /// listed.
  private static let usualNames: Set = [
    "apns-apps", "apns-private-key", "companion-keys", "credential-keys", "database-companion",
    "database-password", "database-relay", "database-responder", "fcm-service-account", "hmac-keys",
    "jwt-keys", "master-api-key", "payment-keys", "vapid-key",
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
let secretVariables: Set<Substring> = [
  "SWITCHBOARD_JWT_KEYS", "SWITCHBOARD_HMAC_KEYS", "SWITCHBOARD_CREDENTIAL_KEYS",
  "SWITCHBOARD_PAYMENT_KEYS", "SWITCHBOARD_COMPANION_KEYS", "SWITCHBOARD_DB_PASSWORD",
  "MASTER_API_KEY", "APNS_PRIVATE_KEY", "APNS_APPS", "FCM_SERVICE_ACCOUNT", "WEBPUSH_VAPID_KEY",
]

/// Whether every user can read a file of settings that holds a secret.
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

/// Whether every user of this host can read or change the file at `path`: its mode allows it, and
/// each folder of the path can be entered by everyone.
private func isOpenToAnybody(_ path: String) -> Bool {
  // A file that we cannot reach is out of reach for others too.
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
