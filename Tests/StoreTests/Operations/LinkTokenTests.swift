import Cryptography
import Store
import Testing

@Suite struct LinkTokenTests {
  private static let keys = try! Keyring(
    parsing: "k1:" + base64URLEncoded([UInt8](repeating: 7, count: 32)))

  @Test func aTokenHasOneSpelling() {
    let parts = ["session-1", "passkey-1"]
    let token = LinkToken.make(for: .ending, of: parts, with: Self.keys.newest)
    #expect(LinkToken.parts(of: token, for: .ending, signedWith: Self.keys) == parts)
    // The signed text has a line for each part.
    let other = token.replacing("session-1.passkey-1", with: "session-1\npasskey-1")
    #expect(LinkToken.parts(of: other, for: .ending, signedWith: Self.keys) == nil)
  }
}
