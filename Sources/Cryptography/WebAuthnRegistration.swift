/// A passkey, as it is stored.
package struct Passkey: Equatable, Sendable {
  /// 1 to 1,023 bytes.
  package let credentialID: [UInt8]
  /// The key with its algorithm: COSE, in CBOR.
  package let publicKey: [UInt8]
  /// The sign count of the last use; 0 if the authenticator does not count.
  package let signCount: UInt32
  /// Whether the passkey may be backed up. This never changes.
  package let isBackupEligible: Bool
  package let isBackedUp: Bool

  package init(
    credentialID: [UInt8], publicKey: [UInt8], signCount: UInt32, isBackupEligible: Bool,
    isBackedUp: Bool
  ) {
    self.credentialID = credentialID
    self.publicKey = publicKey
    self.signCount = signCount
    self.isBackupEligible = isBackupEligible
    self.isBackedUp = isBackedUp
  }
}

extension RelyingParty {
  /// The passkey that a client made (WebAuthn §7.1).
  ///
  /// The attestation statement is ignored: the maker of the authenticator does not matter.
  ///
  /// - Parameters:
  ///   - attestationObject: in CBOR.
  ///   - challengeDigest: SHA-256 of the challenge, which was issued for this ceremony only.
  package func verifyRegistration(
    clientDataJSON: [UInt8], attestationObject: [UInt8], challengeDigest: [UInt8]
  ) throws(WebAuthnError) -> Passkey {
    try check(clientDataJSON, type: "webauthn.create", challengeDigest: challengeDigest)
    let object: CBOR
    do { object = try CBOR(decoding: attestationObject[...]) } catch { throw .malformed }
    guard object["fmt"]?.text != nil, object["attStmt"]?.map != nil,
      let bytes = object["authData"]?.bytes
    else { throw .malformed }

    var data = try authenticatorData(bytes)
    guard data.flags.contains(.attestedCredential), let (_, id) = data.takeCredential()
    else { throw .authenticatorData }
    guard (1...1023).contains(id.count) else { throw .credentialID }
    let publicKey = try takeKey(from: &data.rest)
    try Self.checkEnd(of: data)
    return Passkey(
      credentialID: Array(id), publicKey: publicKey, signCount: data.counter,
      isBackupEligible: data.flags.contains(.backupEligible),
      isBackedUp: data.flags.contains(.backedUp))
  }

  /// Takes the key at the front of `bytes` and returns its bytes.
  private func takeKey(from bytes: inout ArraySlice<UInt8>) throws(WebAuthnError) -> [UInt8] {
    let start = bytes
    let key: COSEKey
    do { key = try COSEKey(CBOR(takenFrom: &bytes)) } catch { throw .publicKey }
    guard algorithms.contains(key.algorithm) else { throw .publicKey }
    return Array(start.dropLast(bytes.count))
  }
}
