/// The data that an authenticator signs (WebAuthn §6.1). App Attest uses the same layout.
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
  let rpIDHash: ArraySlice<UInt8>
  let flags: Flags
  let counter: UInt32

  /// The bytes after the first 37 that have not been taken yet.
  var rest: ArraySlice<UInt8>

  /// nil for fewer than 37 bytes.
  init?(_ bytes: ArraySlice<UInt8>) {
    var rest = bytes
    guard let rpIDHash = rest.take(32), let flags = rest.popFirst(),
      let counter = rest.takeInteger(UInt32.self)
    else { return nil }
    self.rpIDHash = rpIDHash
    self.flags = Flags(rawValue: flags)
    self.counter = counter
    self.rest = rest
  }

  /// Takes the credential's AAGUID and id (WebAuthn §6.5.1), which come first; its key follows. nil
  /// if the bytes end before the id does.
  mutating func takeCredential() -> (aaguid: ArraySlice<UInt8>, id: ArraySlice<UInt8>)? {
    guard let aaguid = rest.take(16), let size = rest.takeInteger(UInt16.self),
      let id = rest.take(Int(size))
    else { return nil }
    return (aaguid, id)
  }
}
