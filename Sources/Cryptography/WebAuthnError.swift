/// The failed step of a WebAuthn ceremony. Clients get the same answer for all.
package enum WebAuthnError: Error, Equatable, Sendable {
  /// The client data are not a JSON object with the required members, each once.
  case clientData
  /// `type` is not that of this ceremony.
  case type
  case challenge
  case origin
  /// A page of another origin framed the page.
  case crossOrigin
  /// The attestation object is not CBOR as ``CBOR`` accepts it.
  case malformed
  /// The authenticator data are too short or too long, or hold what their flags do not declare.
  case authenticatorData
  /// The authenticator data are for another relying party.
  case relyingParty
  case userPresence
  case userVerification
  /// The credential is backed up but not eligible for it, or its eligibility changed.
  case backup
  /// The credential's id is empty or over 1,023 bytes.
  case credentialID
  /// The key is invalid, or its algorithm was not offered.
  case publicKey
  case signature
  /// The sign count does not rise: there may be a copy of the authenticator. Worth a line in the
  /// log.
  case signCount
  /// The credential is unknown, was not offered, or is another user's.
  case credential
}
