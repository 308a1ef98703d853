import COpenSSL

/// `count` unpredictable bytes.
///
/// Stops the program if the system has no randomness.
/// The corresponding C function is `RAND_bytes`.
package func randomBytes(_ count: Int) -> [UInt8] {
  [UInt8](unsafeUninitializedCapacity: count) { bytes, size in
    precondition(RAND_bytes(bytes.baseAddress, Int32(count)) == 1, "no randomness")
    size = count
  }
}

/// A UUID that sorts by time: version 7, lower-case (RFC 9562 §5.7).
///
/// The order of two UUIDs of the same millisecond is random. 74 random bits make the UUID unique.
/// It shows when it was made, and it is no secret.
///
/// - Parameter milliseconds: Unix time, 0 to 2⁴⁸ − 1.
package func timeOrderedUUID(milliseconds: Int64) -> String {
  precondition(milliseconds >= 0 && milliseconds >> 48 == 0, "a time outside of UUID version 7")
  var bytes = randomBytes(16)
  for index in 0..<6 {
    bytes[index] = UInt8(truncatingIfNeeded: milliseconds >> (40 - 8 * index))
  }
  bytes[6] = 0x70 | bytes[6] & 0x0F  // version
  bytes[8] = 0x80 | bytes[8] & 0x3F  // variant
  return uuid(of: bytes[...])
}
