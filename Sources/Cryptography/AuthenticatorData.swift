/// What an authenticator says of itself and signs (WebAuthn §6.1). App Attest has the same layout.
struct AuthenticatorData {
  struct Flags: OptionSet {
    let rawValue: UInt8
    static let userPresent = Flags(rawValue: 0x01)
    static let userVerified = Flags(rawValue: 0x04)
    static let backupEligible = Flags(rawValue: 0x08)
    static let backedUp = Flags(rawValue: 0x10)
    static let attestedCredential = Flags(rawValue: 0x40)
    static let extensions = Flags(rawValue: 0x80)
  }

  /// SHA-256 of the id of the app or relying party.
  let partyHash: ArraySlice<UInt8>
  let flags: Flags
  let counter: UInt32

  /// What follows the first 37 bytes and has not been taken.
  var rest: ArraySlice<UInt8>

  /// nil if `bytes` are fewer than 37.
  init?(_ bytes: ArraySlice<UInt8>) {
    var rest = bytes
    guard let partyHash = rest.take(32), let flags = rest.popFirst(),
      let counter = rest.takeInteger(UInt32.self)
    else { return nil }
    self.partyHash = partyHash
    self.flags = Flags(rawValue: flags)
    self.counter = counter
    self.rest = rest
  }

  /// The kind of authenticator and the credential's id (WebAuthn §6.5.1), before which nothing may have
  /// been taken; its key follows. nil if the bytes end before the id does.
  mutating func takeCredential() -> (kind: ArraySlice<UInt8>, id: ArraySlice<UInt8>)? {
    guard let kind = rest.take(16), let size = rest.takeInteger(UInt16.self),
      let id = rest.take(Int(size))
    else { return nil }
    return (kind, id)
  }
}
