import Cryptography
import Testing

@Suite struct CertificateTests {
  let root = Certificate.appleAppAttestationRoot

  @Test func theAppAttestRootIsApples() {
    #expect(
      hexEncoded(sha256(root.der))
        == "1cb9823ba28ba6ad2d33a006941de2ae4f513ef1d4e831b9f7e0fa7b6242c932")
  }

  @Test func certificatesHaveOneEncoding() throws {
    let bytes = root.der
    #expect(try Certificate(der: bytes[...]).der == bytes)
    // The length is encoded in more bytes than necessary.
    let longer = [0x30, 0x83, 0] + bytes[2...]
    for bytes in [
      [], [0x30], Array(bytes.dropLast()), bytes + [0], Array(bytes.dropFirst()), longer,
    ] {
      #expect(throws: CryptographyError.malformed) { try Certificate(der: bytes[...]) }
    }
  }

  @Test(arguments: ["", "x", P256Tests.publicKey, P256Tests.privateKey])
  func textsThatAreNotCertificatesAreMalformed(_ pem: String) {
    #expect(throws: CryptographyError.malformed) { try Certificate(pem: pem) }
  }

  @Test func theFieldsOfACertificateAreRead() {
    #expect(root.isAuthority)
    #expect(root.publicKey == nil)  // a P-384 key
    #expect(root.extensionValue("2.5.29.19") == [0x30, 3, 1, 1, 0xFF])  // basic constraints
    #expect(root.extensionValue("1.2.840.113635.100.8.2") == nil)
  }

  /// The chain must have three certificates.
  @Test func aRootIsNotTrustedThroughItself() {
    #expect(root.trust(through: root, to: root, at: 1_700_000_000_000) == .untrusted)
    #expect(root.trust(through: root, to: root, at: 2_500_000_000_000) == .outsideValidity)
  }
}
