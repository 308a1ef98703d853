import Glibc

/// The parameters of a request (CGI/1.1 meta-variables), copied once into one buffer.
///
/// Entries are `NAME=value` after a four-byte length. A lookup scans the entries: for 10 to 20 of
/// them a scan costs less than a dictionary and allocates nothing.
package struct Parameters: Sendable {
  package typealias Bytes = UnsafeBufferPointer<UInt8>

  private var bytes: [UInt8] = []
  /// Where the first entry with ``Prefix/http`` begins. A lookup of a field starts there.
  private var fieldsBegin = 0

  /// The prefix of an HTTP field's meta-variable (RFC 3875 §4.1.18).
  package enum Prefix {
    case none, http

    fileprivate var text: StaticString {
      switch self {
      case .none: ""
      case .http: "HTTP_"
      }
    }
  }

  package init() {}

  /// Copies `environment`, a null-terminated vector such as `environ` or `FCGX_Request.envp`.
  package init(copying environment: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) {
    var total = 0
    var entry = environment
    while let text = entry.pointee {
      total += MemoryLayout<UInt32>.size + strlen(text)
      entry += 1
    }
    bytes = [UInt8](repeating: 0, count: total)
    var fields = total
    bytes.withUnsafeMutableBytes { buffer in
      var size = 0
      var entry = environment
      while let text = entry.pointee {
        if fields == total, strncmp(text, "HTTP_", 5) == 0 { fields = size }
        let length = strlen(text)
        let target = buffer.baseAddress! + size
        target.storeBytes(of: UInt32(length), as: UInt32.self)
        memcpy(target + MemoryLayout<UInt32>.size, text, length)
        size += MemoryLayout<UInt32>.size + length
        entry += 1
      }
    }
    fieldsBegin = fields
  }

  /// Adds a parameter at the end.
  package mutating func append(_ name: String, _ value: String) {
    var entry = Array(name.utf8)
    entry.append(UInt8(ascii: "="))
    entry.append(contentsOf: value.utf8)
    entry.withUnsafeBytes { append($0) }
  }

  private mutating func append(_ entry: UnsafeRawBufferPointer) {
    withUnsafeBytes(of: UInt32(entry.count)) { bytes.append(contentsOf: $0) }
    bytes.append(contentsOf: entry)
  }

  /// The first value of `name`.
  package func text(_ name: String, after prefix: Prefix = .none) -> String? {
    value(name, after: prefix) { String(decoding: $0, as: UTF8.self) }
  }

  /// The result of `body` for the bytes of the first value of `name`; nil if there is no value.
  func value<Result>(
    _ name: String, after prefix: Prefix = .none, _ body: (Bytes) -> Result
  ) -> Result? {
    var result: Result?
    forEachValue(of: name, after: prefix) {
      result = body($0)
      return false
    }
    return result
  }

  /// Calls `body` with each value of `name`, in order, until it returns false.
  ///
  /// `name` may be a field's wire name: letters match regardless of case, `-` matches `_`.
  func forEachValue(of name: String, after prefix: Prefix = .none, _ body: (Bytes) -> Bool) {
    var name = name
    name.withUTF8 { name in
      bytes.withUnsafeBufferPointer { bytes in
        var begin = prefix == .http ? fieldsBegin : 0
        while begin < bytes.count {
          let length = UnsafeRawBufferPointer(bytes)
            .loadUnaligned(fromByteOffset: begin, as: UInt32.self)
          begin += MemoryLayout<UInt32>.size
          let entry = Bytes(rebasing: bytes[begin..<(begin + Int(length))])
          if let value = Self.value(in: entry, of: name, after: prefix.text), !body(value) {
            return
          }
          begin += entry.count
        }
      }
    }
  }

  private static func value(
    in entry: Bytes, of name: Bytes, after prefix: StaticString
  ) -> Bytes? {
    let prefixLength = prefix.utf8CodeUnitCount
    let length = prefixLength + name.count
    // Most entries fail this check.
    guard entry.count > length, entry[length] == UInt8(ascii: "="),
      memcmp(entry.baseAddress!, prefix.utf8Start, prefixLength) == 0
    else { return nil }
    for index in name.indices where entry[prefixLength + index] != metaVariable(name[index]) {
      return nil
    }
    return Bytes(rebasing: entry[(length + 1)...])
  }

  /// Converts a character of a field name to that of a meta-variable's name (RFC 3875 §4.1.18).
  static func metaVariable(_ character: UInt8) -> UInt8 {
    switch character {
    case UInt8(ascii: "a")...UInt8(ascii: "z"): character - 32
    case UInt8(ascii: "-"): UInt8(ascii: "_")
    default: character
    }
  }
}
