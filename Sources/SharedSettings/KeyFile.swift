import Cryptography
import Glibc
import ProcessSupport

/// A file of keys, `id:base64url` on each line. The first key signs and seals (see ``Keyring``).
///
/// Other programs must verify each signature. So a new key is added at the end; it signs only after every
/// program has it; and the old key is removed after everything made with it has expired.
///
/// Locks the folder while it exists.
package struct KeyFile: ~Copyable {
  private let path: String
  /// The locked descriptor of the folder.
  private let folder: CInt
  private var entries: [(id: String, line: String)] = []

  /// - Parameter isNew: Whether the file may be missing; a missing file has no keys.
  package init(atPath path: String, orNew isNew: Bool = false) throws(KeyFileError) {
    // Replace the target of a symbolic link, not the link.
    let path =
      realpath(path, nil).map { name in
        defer { free(name) }
        return String(cString: name)
      } ?? path
    self.path = path
    let parent = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
    folder = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0, flock(folder, LOCK_EX) == 0 else { throw .unreadable(path) }
    var file = stat()
    guard stat(path, &file) == 0 else {
      if isNew, errno == ENOENT { return }
      throw .unreadable(path)
    }
    guard file.st_mode & S_IFMT == S_IFREG else { throw .irregular(path) }
    guard file.st_mode & S_IRWXO == 0 else { throw .exposed(path) }
    guard let text = Environment.content(ofFile: path) else { throw .unreadable(path) }
    guard !text.allSatisfy(\.isWhitespace) else { return }
    do { _ = try Keyring(parsing: text) } catch { throw .malformed(path) }
    entries = text.split { $0 == "," || $0.isWhitespace }
      .map { line in (id: String(line.prefix { $0 != ":" }), line: String(line)) }
  }

  deinit { if folder >= 0 { close(folder) } }

  /// The ids of the keys. The first key signs.
  package var ids: [String] { entries.map(\.id) }

  /// Adds a key of 32 random bytes at the end: the key verifies and opens. The bytes fit every file of
  /// keys: they are also a private scalar of P-256.
  ///
  /// - Parameter name: The id; a number is appended if another key has this id already.
  /// - Returns: The id of the new key.
  package mutating func add(named name: String) -> String {
    var (id, number) = (name, 1)
    while ids.contains(id) {
      number += 1
      id = "\(name)-\(number)"
    }
    entries.append((id: id, line: "\(id):\(base64URLEncoded(P256PrivateKey.randomScalar()))"))
    return id
  }

  /// Moves a key to the front: the key then signs and seals.
  package mutating func promote(_ id: String) throws(KeyFileError) {
    entries.insert(entries.remove(at: try index(of: id)), at: 0)
  }

  /// Removes a key; refuses to remove the key that signs.
  package mutating func remove(_ id: String) throws(KeyFileError) {
    let index = try index(of: id)
    guard index > 0 else { throw .signs(id) }
    entries.remove(at: index)
  }

  /// The public halves of the keys, one per entry, in the order of the keys.
  package func publicEntries() throws(KeyFileError) -> [String] {
    do {
      return try BoxKeys(parsing: entries.map(\.line).joined(separator: "\n")).publicKeys.entries
    } catch {
      throw .unboxable(path)
    }
  }

  private func index(of id: String) throws(KeyFileError) -> Int {
    guard let index = entries.firstIndex(where: { $0.id == id }) else { throw .unknown(id) }
    return index
  }

  /// Replaces the file atomically; owner and mode stay the same. Only the owner can access a new file.
  package consuming func save() throws(KeyFileError) {
    let text = entries.map { $0.line + "\n" }.joined()
    let temporary = "\(path).\(hexEncoded(randomBytes(4)))"
    let file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw .unwritable(path) }
    defer { close(file) }
    var old = stat()
    let isNew = stat(path, &old) != 0
    let isWritten =
      (isNew || fchown(file, old.st_uid, old.st_gid) == 0 && fchmod(file, old.st_mode & 0o777) == 0)
      && text.utf8.withContiguousStorageIfAvailable { write(file, $0.baseAddress, $0.count) }
        == text.utf8.count
      && fsync(file) == 0 && rename(temporary, path) == 0 && fsync(folder) == 0
    guard isWritten else {
      unlink(temporary)
      throw .unwritable(path)
    }
  }
}

package enum KeyFileError: Error, Equatable, CustomStringConvertible {
  /// The file is missing, may not be read, or is not text.
  case unreadable(String)
  /// The path is not a regular file but, for example, a folder or a device.
  case irregular(String)
  /// Every user may read or write the file.
  case exposed(String)
  case malformed(String)
  /// A key does not have exactly 32 bytes, or there is no key.
  case unboxable(String)
  /// The key is not of the kind that Web Push needs.
  case foreign(String)
  case unwritable(String)
  /// No key has the id.
  case unknown(String)
  /// The key with the id signs: another key must first be moved to the front.
  case signs(String)

  // Says nothing about the content of the file, which is secret.
  package var description: String {
    switch self {
    case .unreadable(let path): "\(path) cannot be read as text."
    case .irregular(let path): "\(path) is not a regular file."
    case .exposed(let path): "\(path) is open to every user: chmod o= it, and rotate its keys."
    case .malformed(let path):
      "\(path) does not hold keys, id:base64url of at least 32 bytes, each id once."
    case .unboxable(let path):
      "\(path) does not hold keys of exactly 32 bytes, which the companion needs."
    case .foreign(let path): "\(path) does not hold a P-256 private key in PEM."
    case .unwritable(let path): "\(path) cannot be replaced."
    case .unknown(let id): "No key has the id \(id)."
    case .signs(let id): "\(id) signs: put another key in front first."
    }
  }
}
