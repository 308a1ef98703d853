/// The lengths in a stream of parameters: each name and value must end within the stream (FastCGI specification §3.4).
///
/// libfcgi reserves memory for the lengths before it reads that far, and ends the process if it gets none. Releases before
/// 2.4.5 also write beyond the memory if the sum of two lengths does not fit an `int` (CVE-2025-23016).
struct ParameterLengths {
  /// The octets of the stream so far.
  private(set) var count = 0
  /// The octets of the current length that are missing, and its value so far.
  private var length = (missing: 0, value: 0)
  /// Whether the next length is that of a value.
  private var hasName = false
  /// The octets of the current name and value that are missing.
  private var content = 0

  /// Whether the stream may end here.
  var areComplete: Bool { !hasName && length.missing == 0 && content == 0 }

  mutating func append(_ octets: UnsafeRawBufferPointer) {
    count += octets.count
    var index = 0
    while index < octets.count {
      if !hasName, length.missing == 0, content > 0 {
        let skipped = min(content, octets.count - index)
        content -= skipped
        index += skipped
      } else {
        take(octets[index])
        index += 1
      }
    }
  }

  /// Takes an octet of a length: one octet below 128, or four whose first bit is 1.
  private mutating func take(_ octet: UInt8) {
    if length.missing == 0 {
      length = octet < 0x80 ? (0, Int(octet)) : (3, Int(octet & 0x7f))
    } else {
      length = (length.missing - 1, length.value << 8 | Int(octet))
    }
    guard length.missing == 0 else { return }
    content += length.value
    hasName.toggle()
  }
}
