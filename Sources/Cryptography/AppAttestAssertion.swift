extension AppAttest {
  /// A key that was attested to, as it is stored.
  package struct Key: Sendable {
    /// Its point, 65 bytes.
    package let publicKey: [UInt8]
    /// The app that made it.
    package let appID: String
    /// The counter of its last assertion.
    package let counter: UInt32

    package init(publicKey: [UInt8], appID: String, counter: UInt32) {
      self.publicKey = publicKey
      self.appID = appID
      self.counter = counter
    }
  }

  /// What an assertion says beside its signature.
  package struct Assertion: Equatable, Sendable {
    /// To be stored only where it is above what is stored then: of two with one counter, one wins.
    package let counter: UInt32
    package let extensions: Extensions
  }

  /// What `object` asserts, if `key` signed it together with `clientData`.
  ///
  /// - Parameters:
  ///   - object: The assertion, CBOR.
  ///   - clientData: The bytes that the app says it signed, as they were received.
  ///   - isExpected: Whether `clientData` are for this request: method, path, time, an outstanding challenge.
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
    guard data.partyHash.elementsEqual(sha256(key.appID)) else { throw .app }

    guard let verifier = try? P256PublicKey(uncompressedPoint: key.publicKey)  // it says which step
    else { throw .publicKey }
    // The nonce is the message: ECDSA hashes it once more.
    let nonce = sha256(bytes + sha256(clientData))
    guard verifier.isECDSA(Array(signature), of: nonce.span) else { throw .signature }
    guard data.counter > key.counter else { throw .outOfOrder }
    try check(extensions)
    return Assertion(counter: data.counter, extensions: extensions)
  }
}
