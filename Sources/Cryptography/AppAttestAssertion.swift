extension AppAttest {
  /// An attested key as it is stored.
  package struct Key: Sendable {
    /// The key's point, 65 bytes.
    package let publicKey: [UInt8]
    /// The app that made the key.
    package let appID: String
    /// The counter of the last assertion.
    package let counter: UInt32

    package init(publicKey: [UInt8], appID: String, counter: UInt32) {
      self.publicKey = publicKey
      self.appID = appID
      self.counter = counter
    }
  }

  /// The content of an assertion without its signature.
  package struct Assertion: Equatable, Sendable {
    /// Store the counter only if it is above the stored one, so that only one of two assertions
    /// with the same counter succeeds.
    package let counter: UInt32
    package let extensions: Extensions
  }

  /// Returns the content of `object` if `key` signed it together with `clientData`.
  ///
  /// - Parameters:
  ///   - object: the assertion, in CBOR.
  ///   - clientData: the bytes that the app says it signed, as they were received.
  ///   - isExpected: whether `clientData` are for this request: method, path, time, and a challenge
  ///     that is still open.
  package func verifyAssertion(
    _ object: [UInt8], of clientData: [UInt8], by key: Key,
    where isExpected: (_ clientData: [UInt8]) -> Bool
  ) throws(AppAttestError) -> Assertion {
    guard isExpected(clientData) else { throw .challenge }
    let object = try CBOR.attested(object[...])
    guard let signature = object["signature"]?.bytes, let bytes = object["authenticatorData"]?.bytes
    else { throw .malformed }
    guard let data = AuthenticatorData(bytes) else { throw .authenticatorData }
    let extensions = try Extensions(data.rest)
    guard data.rpIDHash.elementsEqual(sha256(key.appID)) else { throw .app }

    // Every error here means that the stored key is unusable.
    guard let verifier = try? P256PublicKey(uncompressedPoint: key.publicKey)
    else { throw .publicKey }
    // The nonce is the signed message: ECDSA hashes it again.
    let nonce = sha256(bytes + sha256(clientData))
    guard verifier.isECDSA(Array(signature), of: nonce.span) else { throw .signature }
    guard data.counter > key.counter else { throw .outOfOrder }
    try check(extensions)
    return Assertion(counter: data.counter, extensions: extensions)
  }
}
