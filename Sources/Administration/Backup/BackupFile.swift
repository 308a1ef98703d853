import Base
import Cryptography
import Glibc

/// File of a backup: a tar archive, compressed by gzip and encrypted by age. To read it without our
/// programs, run `age -d -i IDENTITY FILE | tar -xz`.
///
/// The archive holds a tar archive with the secrets and the configuration, then the dump, then the
/// manifest. The dump is in pieces, because tar needs the size of a file before its content.
enum BackupFile {
  static let configuration = "configuration.tar"
  /// Size of a piece of the dump, in bytes.
  static let pieceSize = 8 << 20

  static func dumpPart(_ number: Int) -> String {
    let digits = String(number)
    return "dump.sql." + String(repeating: "0", count: max(0, 6 - digits.count)) + digits
  }

  /// Whether the dump is complete: `mariadb-dump` then ends with this line.
  static func isEnd(ofDump tail: [UInt8]) -> Bool {
    let line = String(decoding: tail, as: UTF8.self).split(separator: "\n").last
    return line?.hasPrefix("-- Dump completed") == true
  }
}

/// New file with the suffix `.part`, deleted unless it gets its final name.
private struct PartialFile: ~Copyable {
  let descriptor: CInt
  private let path: String
  private var isWhole = false

  /// - Throws: ``BackupError/refused(_:)`` if the file exists or cannot be created.
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
    fchmod(descriptor, 0o600)  // for a file that existed already
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

/// Writes a backup with the suffix `.part`, and renames it when it is complete.
struct BackupWriter: ~Copyable {
  private var file: PartialFile
  private var pipeline: Pipeline
  private let now: Timestamp
  private(set) var parts: [BackupManifest.Part] = []

  /// - Parameter recipients: arguments of age.
  /// - Throws: ``BackupError/refused(_:)`` if the file exists or cannot be created.
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

  /// Adds the manifest, and gives the file its final name.
  mutating func finish(with manifest: [UInt8]) throws {
    try write(Tar.entry(BackupManifest.name, manifest, modified: now.seconds) + Tar.end)
    try pipeline.finish()
    try file.finish()
  }

  private mutating func write(_ bytes: [UInt8]) throws {
    do { try pipeline.write(bytes) } catch {
      try pipeline.finish()  // throws the cause
      throw error
    }
  }
}

/// Complete backup: it was read to its end.
struct BackupContent {
  let manifest: BackupManifest
  let configuration: [UInt8]

  /// Decrypts and checks the whole file.
  ///
  /// - Parameters:
  ///   - identity: path of the file with the private key.
  ///   - receive: called with the pieces of the dump, in order.
  /// - Throws: ``BackupError/damaged(_:)``; ``BackupError/refused(_:)`` if the file cannot be
  ///   decrypted.
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
      try Self.finish(&pipeline, path, identity)  // prefers the errors of age and gzip
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
