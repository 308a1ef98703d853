extension AppAttest {
  /// A key that an app made on a device, as Apple certifies.
  package struct Attestation: Equatable, Sendable {
    /// SHA-256 of the key, 32 bytes.
    package let keyID: [UInt8]
    /// The key's point, 65 bytes. Its counter is 0.
    package let publicKey: [UInt8]
    package let appID: String
    package let environment: Environment
    package let extensions: Extensions
    /// The receipt for later questions to Apple about the device. It is not authenticated, so do
    /// not read it.
    package let receipt: [UInt8]
  }

  /// Returns the key that `object` attests to.
  ///
  /// - Parameters:
  ///   - object: the attestation object, in CBOR.
  ///   - keyID: the id that the app sent with it.
  ///   - challengeDigest: SHA-256 of the challenge as it was issued. Spend the challenge in the
  ///     database first: it is valid for one try.
  ///   - milliseconds: Unix time.
  package func verifyAttestation(
    _ object: [UInt8], keyID: [UInt8], challengeDigest: [UInt8], at milliseconds: Int64
  ) throws(AppAttestError) -> Attestation {
    let object = try AttestationObject(object)
    let credential = try AttestedCredential(object.authenticatorData)
    let nonce = sha256(object.authenticatorData + challengeDigest)
    guard try Self.nonce(of: object.leaf) == nonce else { throw .nonce }

    guard let key = object.leaf.publicKey?.uncompressedPoint else { throw .curve }
    guard sha256(key) == keyID else { throw .keyID }
    guard credential.id.elementsEqual(keyID) else { throw .credentialID }
    guard credential.publicKey == key else { throw .publicKey }
    let hash = credential.data.rpIDHash
    guard let appID = appIDs.first(where: { hash.elementsEqual(sha256($0)) }) else { throw .app }
    guard credential.data.counter == 0 else { throw .counter }
    guard let environment = Environment(aaguid: credential.aaguid),
      environments.contains(environment)
    else { throw .environment }
    try check(credential.extensions)

    try checkCertificates(of: object, at: milliseconds)  // last, because it costs most
    return Attestation(
      keyID: keyID, publicKey: key, appID: appID, environment: environment,
      extensions: credential.extensions, receipt: Array(object.receipt))
  }

  /// The 32 bytes of Apple's extension, whose only form is SEQUENCE { [1] { OCTET STRING } }.
  private static func nonce(of leaf: Certificate) throws(AppAttestError) -> [UInt8] {
    guard var value = leaf.extensionValue("1.2.840.113635.100.8.2")?[...]
    else { throw .nonceMissing }
    guard value.take(6) == [0x30, 0x24, 0xA1, 0x22, 0x04, 0x20], value.count == 32
    else { throw .nonceForm }
    return Array(value)
  }

  private func checkCertificates(
    of object: AttestationObject, at milliseconds: Int64
  ) throws(AppAttestError) {
    guard object.intermediate.isAuthority, !object.leaf.isAuthority else { throw .authority }
    switch object.leaf.trust(through: object.intermediate, to: root, at: milliseconds) {
    case .trusted: return
    case .outsideValidity: throw .validity
    case .untrusted: throw .untrusted
    }
  }
}

extension AppAttest.Environment {
  /// The environment that an AAGUID of App Attest stands for.
  fileprivate init?(aaguid: ArraySlice<UInt8>) {
    switch String(decoding: aaguid, as: UTF8.self) {
    case "appattestdevelop": self = .development
    case "appattest\0\0\0\0\0\0\0": self = .production
    default: return nil
    }
  }
}

/// The parts of an attestation object, not yet verified.
private struct AttestationObject {
  let leaf: Certificate
  let intermediate: Certificate
  let receipt: ArraySlice<UInt8>
  let authenticatorData: ArraySlice<UInt8>

  init(_ bytes: [UInt8]) throws(AppAttestError) {
    let object = try CBOR.attested(bytes[...])
    guard object["fmt"] == .text("apple-appattest") else { throw .format }
    let statement = object["attStmt"]
    guard let chain = statement?["x5c"]?.array, chain.count == 2, let leaf = chain[0].bytes,
      let intermediate = chain[1].bytes
    else { throw .certificateCount }
    guard let receipt = statement?["receipt"]?.bytes, receipt.count <= AppAttest.maximumReceiptSize
    else { throw .receipt }
    guard let authenticatorData = object["authData"]?.bytes else { throw .authenticatorData }
    do {
      self.leaf = try Certificate(der: leaf)
      self.intermediate = try Certificate(der: intermediate)
    } catch {
      throw .certificate
    }
    self.receipt = receipt
    self.authenticatorData = authenticatorData
  }
}

/// The authenticator data of an attestation, not yet verified.
private struct AttestedCredential {
  let data: AuthenticatorData
  let aaguid: ArraySlice<UInt8>
  let id: ArraySlice<UInt8>
  let publicKey: [UInt8]
  let extensions: AppAttest.Extensions

  init(_ bytes: ArraySlice<UInt8>) throws(AppAttestError) {
    guard var data = AuthenticatorData(bytes), let (aaguid, id) = data.takeCredential()
    else { throw .authenticatorData }
    guard id.count == 32 else { throw .credentialID }
    let value: CBOR
    do { value = try CBOR(takenFrom: &data.rest) } catch { throw .malformed }
    // An error means a key of an unknown algorithm.
    guard let point = try? COSEKey(value).uncompressedPoint else { throw .publicKey }
    extensions = try AppAttest.Extensions(data.rest)
    self.data = data
    self.aaguid = aaguid
    self.id = id
    publicKey = point
  }
}
