import Base

/// Returns the result of `make` for each `id:base64url` entry of `text`, in the order of the
/// entries.
///
/// Entries are separated by commas or newlines. Blank entries and whitespace around an entry are ignored. The bytes that
/// `make` gets are wiped after it returns.
///
/// - Throws: ``CryptographyError/malformed`` if an entry has another form;
///   ``CryptographyError/invalidKey`` if `make` refuses an entry, if an id occurs twice, or if there is no entry.
func parseKeys<Made>(
  _ text: String, after prefix: String = "", id: (Made) -> String,
  _ make: (_ id: String, _ bytes: Span<UInt8>) throws(CryptographyError) -> Made
) throws(CryptographyError) -> [Made] {
  var keys: [Made] = []
  for line in text.split(whereSeparator: { $0 == "," || $0.isNewline }) {
    let entry = String(line).trimmed
    guard !entry.isEmpty else { continue }
    guard entry.hasPrefix(prefix) else { throw .malformed }
    let parts = entry.dropFirst(prefix.count)
      .split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, var bytes = base64URLDecoded(String(parts[1])) else { throw .malformed }
    defer { wipe(&bytes) }
    let key = try make(String(parts[0]), bytes.span)
    guard !keys.contains(where: { id($0) == id(key) }) else { throw .invalidKey }
    keys.append(key)
  }
  guard !keys.isEmpty else { throw .invalidKey }
  return keys
}

/// Whether `id` can name a key: 1 to 32 of the characters `A–Z a–z 0–9 _ -`.
func isKeyID(_ id: String) -> Bool {
  (1...32).contains(id.utf8.count)
    && id.utf8.allSatisfy { $0.isAlphanumeric || "_-".utf8.contains($0) }
}
