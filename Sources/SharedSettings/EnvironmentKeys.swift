package import Cryptography
package import ProcessSupport

extension Environment {
  /// The keys of `name`: entries `id:base64url` of at least 32 bytes, newest first, separated by
  /// commas or line ends.
  package mutating func keyring(_ name: String, _ meaning: String) -> Keyring? {
    value(name, meaning, "must be a list of id:base64url, each of at least 32 bytes") {
      try? Keyring(parsing: $0)  // naming the broken rule would reveal something about a secret
    }
  }

  /// The keys of `name` for ES256: entries `id:base64url` of 32 bytes, newest first, separated by commas or
  /// line ends.
  package mutating func es256Keyring(_ name: String, _ meaning: String) -> ES256Keyring? {
    value(
      name, meaning,
      "must be a list of id:base64url, each of 32 bytes that are a private scalar of P-256; `switchboard-companion keys add` makes them"
    ) {
      try? ES256Keyring(parsing: $0)  // the complaint states the rule
    }
  }

  /// The private keys of `name`: entries `id:base64url` of 32 bytes, newest first, separated by commas or
  /// line ends.
  package mutating func boxKeys(_ name: String, _ meaning: String) -> BoxKeys? {
    value(name, meaning, "must be a list of id:base64url, each of 32 bytes") {
      try? BoxKeys(parsing: $0)  // the complaint states the rule
    }
  }

  /// The public keys of `name`, each with the prefix `public:`.
  package mutating func boxPublicKeys(_ name: String, _ meaning: String) -> BoxPublicKeys? {
    value(name, meaning, "must be the output of `switchboard-companion keys public`") {
      try? BoxPublicKeys(parsing: $0)  // as above
    }
  }
}
