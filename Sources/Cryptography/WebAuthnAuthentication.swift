/// The client's answer in a sign-in with a passkey (`AuthenticatorAssertionResponse`), after
/// decoding from base64url.
package struct PasskeyAssertion: Sendable {
  package var credentialID: [UInt8]
  package var clientDataJSON: [UInt8]
  package var authenticatorData: [UInt8]
  /// DER for ES256; the algorithm's own form for others.
  package var signature: [UInt8]
  package var userHandle: [UInt8]?

  package init(
    credentialID: [UInt8], clientDataJSON: [UInt8], authenticatorData: [UInt8],
    signature: [UInt8], userHandle: [UInt8]? = nil
  ) {
    self.credentialID = credentialID
    self.clientDataJSON = clientDataJSON
    self.authenticatorData = authenticatorData
    self.signature = signature
    self.userHandle = userHandle
  }
}

/// The changes to a passkey by a sign-in.
package struct PasskeyUse: Equatable, Sendable {
  /// Store it only if it is above the stored one, or if both are 0.
  package let signCount: UInt32
  package let isBackedUp: Bool

  package init(signCount: UInt32, isBackedUp: Bool) {
    self.signCount = signCount
    self.isBackedUp = isBackedUp
  }
}

extension RelyingParty {
  /// Returns the changes to `passkey` if `assertion` signs its owner in (WebAuthn §7.2).
  ///
  /// - Parameters:
  ///   - passkey: the passkey with the assertion's credential id. nil if it is unknown: the call
  ///     then fails like a wrong signature and takes as long.
  ///   - owner: the user handle of the passkey's owner, 1 to 64 bytes.
  ///   - offered: the credential ids that the client was offered. If empty, the assertion must have
  ///     a user handle.
  ///   - challengeDigest: SHA-256 of the challenge, which was issued for this ceremony only.
  package func verifyAuthentication(
    _ assertion: PasskeyAssertion, by passkey: Passkey?, of owner: [UInt8], offered: [[UInt8]],
    challengeDigest: [UInt8]
  ) throws(WebAuthnError) -> PasskeyUse {
    try check(assertion.clientDataJSON, type: "webauthn.get", challengeDigest: challengeDigest)
    let bytes = assertion.authenticatorData
    let data = try authenticatorData(bytes[...])
    guard !data.flags.contains(.attestedCredential) else { throw .authenticatorData }
    try Self.checkEnd(of: data)

    let key: COSEKey
    do { key = try COSEKey(CBOR(decoding: (passkey?.publicKey ?? decoyKey)[...])) } catch {
      throw .publicKey
    }
    let message = bytes + sha256(assertion.clientDataJSON)
    guard key.verifies(assertion.signature, of: message.span) else { throw .signature }

    guard let passkey, passkey.credentialID == assertion.credentialID,
      offered.isEmpty ? assertion.userHandle != nil : offered.contains(passkey.credentialID),
      assertion.userHandle ?? owner == owner
    else { throw .credential }
    guard data.flags.contains(.backupEligible) == passkey.isBackupEligible else { throw .backup }
    guard data.counter > passkey.signCount || data.counter == 0 && passkey.signCount == 0
    else { throw .signCount }
    return PasskeyUse(
      signCount: data.counter, isBackedUp: data.flags.contains(.backedUp))
  }
}

/// The key for an unknown passkey, so that verifying takes as long: the base point of P-256.
private let decoyKey = hexDecoded(
  """
  a5010203262001\
  2158206b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296\
  2258204fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5
  """)!
