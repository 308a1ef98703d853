import Cryptography

/// Keys that sealed values in a database need, and that a site's files lack.
///
/// - Parameters:
///   - seals: prefixes of the values: `box:` and the id of a key of the companion, or the id of a
///     key of credentials.
///   - companionKeys: content of the file `companion-keys`. A missing or malformed file holds no
///     key, so all keys that should be in it are reported.
///   - credentialKeys: content of the file `credential-keys`; nil likewise.
package func missingKeys(
  for seals: [String], companionKeys: String?, credentialKeys: String?
) -> [String] {
  let boxes = (try? BoxKeys(parsing: companionKeys ?? ""))?.publicKeys.ids ?? []
  let keyring = try? Keyring(parsing: credentialKeys ?? "")
  return seals.compactMap { seal in
    if seal.hasPrefix("box:") {
      let id = String(seal.dropFirst(4))
      return boxes.contains(id) ? nil : "\(id) of companion-keys"
    }
    return keyring?[seal] != nil ? nil : "\(seal) of credential-keys"
  }
}
