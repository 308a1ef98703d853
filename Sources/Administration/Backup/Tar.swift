/// Member of a tar archive.
struct TarEntry {
  var name: String
  /// Content of a regular file; empty for a folder or a link.
  var content: [UInt8]
}

/// Tar format that all programs read (POSIX.1-1988, ustar): blocks of 512 bytes, a header before
/// each file.
enum Tar {
  static let blockSize = 512
  /// End of an archive.
  static let end = [UInt8](repeating: 0, count: 2 * blockSize)

  /// Header, content and padding of a regular file with mode 600.
  ///
  /// - Parameters:
  ///   - name: at most 100 bytes of ASCII.
  ///   - modified: Unix seconds.
  static func entry(_ name: String, _ content: [UInt8], modified: Int64) -> [UInt8] {
    precondition(name.utf8.count <= 100)
    var header = [UInt8](repeating: 0, count: blockSize)
    func put(_ text: String, at offset: Int) {
      header.replaceSubrange(offset..<offset + text.utf8.count, with: text.utf8)
    }
    put(name, at: 0)
    put("0000600", at: 100)
    put("0000000", at: 108)  // owner and group: root
    put("0000000", at: 116)
    put(octal(Int64(content.count), digits: 11), at: 124)
    put(octal(modified, digits: 11), at: 136)
    put("        ", at: 148)  // blanks while the checksum is computed
    put("0", at: 156)
    put("ustar\u{0}00", at: 257)
    put(octal(Int64(header.reduce(0) { $0 + Int($1) }), digits: 6) + "\u{0}", at: 148)
    return header + content + [UInt8](repeating: 0, count: padding(after: content.count))
  }

  /// The next member of an archive, or nil at its end.
  ///
  /// - Parameter read: returns the next bytes; fewer than asked for only at the end of the archive.
  /// - Throws: ``BackupError/damaged(_:)``
  static func next(limit: Int, _ read: (Int) throws -> [UInt8]) throws -> TarEntry? {
    let header = try read(blockSize)
    guard header.count == blockSize else { throw BackupError.damaged("it ends too early") }
    if header.allSatisfy({ $0 == 0 }) { return nil }
    func text(_ range: Range<Int>) -> String {
      String(decoding: header[range].prefix { $0 != 0 }, as: UTF8.self)
    }
    let (prefix, name, digits) = (text(345..<500), text(0..<100), text(124..<136))
    guard text(257..<262) == "ustar", let size = Int(digits.prefix { $0 != " " }, radix: 8),
      (0...limit).contains(size)
    else { throw BackupError.damaged("it holds something else than a backup of Switchboard") }
    let content = try read(size)
    let padded = try read(padding(after: size))
    guard content.count == size, padded.count == padding(after: size) else {
      throw BackupError.damaged("it ends too early")
    }
    return TarEntry(name: prefix.isEmpty ? name : "\(prefix)/\(name)", content: content)
  }

  /// All members of an archive in memory.
  static func entries(of archive: [UInt8]) throws -> [TarEntry] {
    var rest = archive[...]
    var members: [TarEntry] = []
    while let member = try next(
      limit: archive.count,
      { count in
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
      })
    { members.append(member) }
    return members
  }

  private static func padding(after size: Int) -> Int { (blockSize - size % blockSize) % blockSize }

  private static func octal(_ number: Int64, digits: Int) -> String {
    let text = String(number, radix: 8)
    return String(repeating: "0", count: digits - text.count) + text
  }
}
