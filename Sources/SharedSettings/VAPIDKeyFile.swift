import Cryptography
import Glibc
import ProcessSupport

/// A PEM file with the private key that identifies a site to push services (RFC 8292).
///
/// There is one key and no rotation: pages subscribe with this key, and services reject every other key.
package struct VAPIDKeyFile {
  /// The public key in the form that pages use: the point in base64url.
  package let publicKey: String
  /// Whether the file was missing.
  package let isNew: Bool

  /// - Parameter isRehearsal: Whether to skip writing a new key.
  package init(atPath path: String, isRehearsal: Bool) throws {
    var file = stat()
    isNew = stat(path, &file) != 0 && errno == ENOENT
    let key: P256PrivateKey
    if isNew {
      key = try P256PrivateKey.generate()
      if !isRehearsal { try Self.write(key, toPath: path) }
    } else {
      guard file.st_mode & S_IRWXO == 0 else { throw KeyFileError.exposed(path) }
      guard let text = Environment.content(ofFile: path) else {
        throw KeyFileError.unreadable(path)
      }
      do { key = try P256PrivateKey(pem: text) } catch { throw KeyFileError.foreign(path) }
    }
    publicKey = base64URLEncoded(try key.publicKey().uncompressedPoint)
  }

  /// Makes a file that only its owner can access. It gets its name when it is complete.
  private static func write(_ key: P256PrivateKey, toPath path: String) throws {
    let pem = try key.pem()
    let temporary = "\(path).\(hexEncoded(randomBytes(4)))"
    let file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw KeyFileError.unwritable(path) }
    defer {
      close(file)
      unlink(temporary)
    }
    guard
      Glibc.write(file, pem, pem.count) == pem.count && fsync(file) == 0
        && link(temporary, path) == 0
    else { throw KeyFileError.unwritable(path) }
  }
}
