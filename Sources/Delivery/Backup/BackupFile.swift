import Base
import Cryptography
import Glibc

/// The file of a backup: a tar archive, compressed by gzip and encrypted by age. Without these programs of ours it is
/// read by `age -d -i IDENTITY FILE | tar -xz`.
///
/// The archive holds the secrets and the configuration, which are a tar archive themselves; the dump in pieces, because tar
/// must know the size of a file before it; and the manifest.
enum BackupFile {
  static let configuration = "configuration.tar"
  /// Of a piece of the dump, in bytes.
  static let pieceSize = 8 << 20

  static func dumpPart(_ number: Int) -> String {
    let digits = String(number)
    return "dump.sql." + String(repeating: "0", count: max(0, 6 - digits.count)) + digits
  }

  /// What `mariadb-dump` ends with, if it wrote everything.
  static func isEnd(ofDump tail: [UInt8]) -> Bool {
    let line = String(decoding: tail, as: UTF8.self).split(separator: "\n").last
    return line?.hasPrefix("-- Dump completed") == true
  }
}

/// A new file under another name, which goes unless it gets its own.
private struct PartialFile: ~Copyable {
  let descriptor: CInt
  private let path: String
  private var isWhole = false

  /// - Throws: ``BackupError/refused(_:)`` if there is a file of the name, or none can be made.
  init(_ path: String) throws {
    self.path = path
    guard access(path, F_OK) != 0 else {
      throw BackupError.refused("\(path) exists already. Choose another name.")
    }
    let flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW
    let descriptor = open(path + ".part", flags, 0o600)
    guard descriptor >= 0 else {
      throw BackupError.refused(
        "\(path).part cannot be written: \(String(cString: strerror(errno))).")
    }
    self.descriptor = descriptor
    fchmod(descriptor, 0o600)  // where it was there
  }

  deinit {
    close(descriptor)
    if !isWhole { unlink(path + ".part") }
  }

  mutating func finish() throws {
    guard fsync(descriptor) == 0, rename(path + ".part", path) == 0 else {
      throw BackupError.refused("\(path) cannot be written: \(String(cString: strerror(errno))).")
    }
    isWhole = true
  }
}

/// Writes a backup under another name, and gives it its own when all is in it.
struct BackupWriter: ~Copyable {
  private var file: PartialFile
  private var pipeline: Pipeline
  private let now: Timestamp
  private(set) var parts: [BackupManifest.Part] = []

  /// - Parameter recipients: arguments of age.
  /// - Throws: ``BackupError/refused(_:)`` if the file exists, or cannot be made.
  init(to path: String, for recipients: [String], at now: Timestamp) throws {
    let file = try PartialFile(path)
    let pipeline = try Pipeline(
      [["gzip", "-c"], ["age", "--encrypt"] + recipients], from: .us, to: .file(file.descriptor))
    self.file = file
    self.pipeline = pipeline
    self.now = now
  }

  mutating func add(_ name: String, _ content: [UInt8]) throws {
    parts.append(
      BackupManifest.Part(
        name: name, size: content.count, sha256: hexEncoded(sha256(content).span)))
    try write(Tar.entry(name, content, modified: now.seconds))
  }

  /// Adds the manifest, and moves the file to its place.
  mutating func finish(with manifest: [UInt8]) throws {
    try write(Tar.entry(BackupManifest.name, manifest, modified: now.seconds) + Tar.end)
    try pipeline.finish()
    try file.finish()
  }

  private mutating func write(_ bytes: [UInt8]) throws {
    do { try pipeline.write(bytes) } catch {
      try pipeline.finish()  // says why
      throw error
    }
  }
}

/// A backup that has been read to its end: it is whole.
struct BackupContent {
  let manifest: BackupManifest
  let configuration: [UInt8]

  /// Decrypts the file and checks all of it.
  ///
  /// - Parameters:
  ///   - identity: path of the file with the private key.
  ///   - receive: gets the pieces of the dump, in their order.
  /// - Throws: ``BackupError/damaged(_:)``; ``BackupError/refused(_:)`` where it cannot be decrypted.
  init(
    reading path: String, with identity: String,
    receive: (_ piece: [UInt8]) throws -> Void = { _ in }
  ) throws {
    for path in [path, identity] where access(path, R_OK) != 0 {
      throw BackupError.refused(
        "\(path) cannot be read: \(String(cString: strerror(errno))). Nothing was changed.")
    }
    var pipeline = try Pipeline([
      ["age", "--decrypt", "--identity", identity, "--", path], ["gzip", "-dc"],
    ])
    var parts: [BackupManifest.Part] = []
    var (manifest, configuration, tail): (BackupManifest?, [UInt8]?, [UInt8]) = (nil, nil, [])
    do {
      while let member = try Tar.next(limit: 256 << 20, { pipeline.read(atMost: $0) }) {
        if member.name == BackupManifest.name {
          manifest = try BackupManifest(decoding: member.content)
          continue
        }
        parts.append(
          BackupManifest.Part(
            name: member.name, size: member.content.count,
            sha256: hexEncoded(sha256(member.content).span)))
        if member.name == BackupFile.configuration {
          configuration = member.content
        } else {
          tail = Array((tail + member.content.suffix(200)).suffix(200))
          try receive(member.content)
        }
      }
      _ = pipeline.readToEnd()
    } catch let error as BackupError {
      try Self.finish(&pipeline, path, identity)  // the programs know better what is wrong
      throw error
    }
    try Self.finish(&pipeline, path, identity)
    guard let manifest, let configuration, manifest.parts == parts else {
      throw BackupError.damaged("it does not hold what its manifest names")
    }
    guard BackupFile.isEnd(ofDump: tail) else {
      throw BackupError.damaged("the dump of the database has no end")
    }
    (self.manifest, self.configuration) = (manifest, configuration)
  }

  private static func finish(
    _ pipeline: inout Pipeline, _ path: String, _ identity: String
  ) throws {
    do throws(PipelineError) { try pipeline.finish() } catch {
      throw BackupError.refused(
        "\(path) cannot be decrypted with the key in \(identity), or it is damaged. Nothing was changed. \(error)"
      )
    }
  }
}
