import Cryptography
import Testing

/// Keys and signatures made with the command `openssl`, except those of RFC 7515.
@Suite struct P256Tests {
  static let privateKey = """
    -----BEGIN PRIVATE KEY-----
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg8dqzcCXUpe7eivW2
    cOgWGiqB/J/x9ZS/lx34czoiNnmhRANCAASyAEEVZPhHVWyRNYawaufsGrwDaUC2
    G6uBqCqWbxv+W+Bguair2CFoydJ+pGqnCPz2zIsQduXecFYxHIUlwmHn
    -----END PRIVATE KEY-----

    """
  static let publicKey = """
    -----BEGIN PUBLIC KEY-----
    MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEsgBBFWT4R1VskTWGsGrn7Bq8A2lA
    thurgagqlm8b/lvgYLmoq9ghaMnSfqRqpwj89syLEHbl3nBWMRyFJcJh5w==
    -----END PUBLIC KEY-----

    """
  /// The DER form up to the coordinates (RFC 5480 §2).
  static let prefix = hexDecoded("3059301306072a8648ce3d020106082a8648ce3d03010703420004")!

  @Test func theSignatureInRFC7515Verifies() throws {
    let x = try #require(base64URLDecoded("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"))
    let y = try #require(base64URLDecoded("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"))
    let key = try P256PublicKey(subjectPublicKeyInfo: Self.prefix + x + y)
    let message = Array(
      """
      eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmN\
      vbS9pc19yb290Ijp0cnVlfQ
      """.utf8)
    let signature = try #require(
      base64URLDecoded(
        "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"))
    #expect(key.isES256(signature, of: message))
    for index in signature.indices {
      var flipped = signature
      flipped[index] ^= 1
      #expect(!key.isES256(flipped, of: message))
    }
  }

  @Test func signaturesOfAnotherProgramVerify() throws {
    let r = "f25de9833e53e695d2627666b9683ca8a2b042ab0d57746d7b71dc70401a13e2"
    let s = "43fbbacf261f884483aff60d201450b635f4a75bb9739d32476ac3d70bd51ca2"
    let signature = try #require(hexDecoded(r + s))
    let key = try P256PublicKey(pem: Self.publicKey)
    #expect(key.isES256(signature, of: Array("eyJhbGciOiJFUzI1NiJ9.e30".utf8)))
    #expect(!key.isES256(signature, of: Array("eyJhbGciOiJFUzI1NiJ9.e31".utf8)))
  }

  /// Makes 600 signatures, because one in 256 has a coordinate with a leading zero, which DER
  /// omits.
  @Test func signaturesHave64BytesAndVerify() throws {
    let key = try P256PrivateKey(pem: Self.privateKey)
    let verifier = try P256PublicKey(pem: Self.publicKey)
    for number in 0..<600 {
      let message = Array("message \(number)".utf8)
      let signature = try key.signES256(message.span)
      try #require(signature.count == 64)
      #expect(verifier.isES256(signature, of: message))
    }
  }

  @Test(
    arguments: [
      [], [0], Array(repeating: 0, count: 63), Array(repeating: 0, count: 64),
      Array(repeating: 255, count: 64), Array(repeating: 1, count: 65),
    ] as [[UInt8]])
  func malformedSignaturesAreRefused(_ signature: [UInt8]) throws {
    let key = try P256PublicKey(pem: Self.publicKey)
    #expect(!key.isES256(signature, of: [UInt8]()))
  }

  @Test(arguments: [
    "", "x", "-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n", Self.publicKey,
    String(Self.privateKey.dropLast(60)), Self.privateKey.replacing("\n", with: #"\n"#),
    // Encrypted. If libcrypto asked for the password, the test would wait forever.
    """
    -----BEGIN ENCRYPTED PRIVATE KEY-----
    MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAgLlHAUoyyeVQICCAAw
    DAYIKoZIhvcNAgkFADAdBglghkgBZQMEAQIEEDl3JaK8I/ItbUNMcX0j2JgEgZBS
    6SR2vDaB7tamzcFs7xe4k5IYiK3Z8Sqt95nQYCjmFSqJOxEiDuqmp5P48cD2ITn2
    GInID63g52D7F3sKD4Q5MWASIgXITHy+5K0KAwRGeUnXH8jR5rGaUBuU6c0VAosV
    NyEfiUsszuepvVL6xqwenVag5Lxxl3oBrKX0LcwfcjYOlnH64BxTTy+KUTM+VTg=
    -----END ENCRYPTED PRIVATE KEY-----

    """,
  ])
  func textsThatAreNotKeysAreMalformed(_ pem: String) {
    #expect(throws: CryptographyError.malformed) { try P256PrivateKey(pem: pem) }
  }

  @Test func keysOfAnotherCurveAreInvalid() {
    let p384 = """
      -----BEGIN PRIVATE KEY-----
      MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDAwAJiBY6kFNUmsXc/w
      9AJAzJ/O2A6D71J8pkObMFk009bqeIfMqRtBJ3ta2uE48CuhZANiAATPHkiLl7xg
      xA+wo0B/pZCS0AApWeIntEbB1qUfpo7lFuzsnf9OX8vTdss8mZ2jjK3VdVvYD7/E
      OwruhaCJg60LqHQtuCsNg0CLSfyd0QHs8FneUKtkEPxp/30NhUGpzXk=
      -----END PRIVATE KEY-----

      """
    #expect(throws: CryptographyError.invalidKey) { try P256PrivateKey(pem: p384) }
  }

  @Test func malformedPublicKeysAndPointsOffTheCurveAreRefused() throws {
    let whole = try #require(
      base64Decoded(
        Self.publicKey.split(separator: "\n").dropFirst().dropLast().joined()))
    _ = try P256PublicKey(subjectPublicKeyInfo: whole)
    var offCurve = whole
    offCurve[whole.count - 1] ^= 1
    for bytes in [[], Array(whole.dropLast()), whole + [0], offCurve] {
      #expect(throws: CryptographyError.malformed) {
        try P256PublicKey(subjectPublicKeyInfo: bytes)
      }
    }
  }

  @Test func pointsAndKeysConvertBothWays() throws {
    let point = try P256PublicKey(pem: Self.publicKey).uncompressedPoint
    #expect(point.count == 65)
    #expect(try P256PublicKey(uncompressedPoint: point).uncompressedPoint == point)
    // The compressed form gives the same key.
    let compressed = [0x02 | point[64] & 1] + point[1...32]
    let prefix = try #require(hexDecoded("3039301306072a8648ce3d020106082a8648ce3d030107032200"))
    let key = try P256PublicKey(subjectPublicKeyInfo: prefix + compressed)
    #expect(key.uncompressedPoint == point)

    for bytes in [
      [], compressed, Array(point.dropLast()), point + [0], Array(point.dropFirst()),
      [6] + point.dropFirst(), [4] + [UInt8](repeating: 0, count: 64), flip(519, of: point),
    ] {
      #expect(throws: CryptographyError.malformed) { try P256PublicKey(uncompressedPoint: bytes) }
    }
  }

  /// Refuses the same numbers in another DER encoding, or with bytes after them.
  @Test func signaturesInDERHaveOneForm() throws {
    let key = try P256PublicKey(pem: Self.publicKey)
    let message = Array("eyJhbGciOiJFUzI1NiJ9.e30".utf8)
    let r = "00f25de9833e53e695d2627666b9683ca8a2b042ab0d57746d7b71dc70401a13e2"
    let s = "43fbbacf261f884483aff60d201450b635f4a75bb9739d32476ac3d70bd51ca2"
    func verifies(_ text: String) -> Bool {
      key.isECDSA(hexDecoded(text) ?? [], of: message.span)
    }
    #expect(verifies("30450221\(r)0220\(s)"))
    for text in [
      "", "3000", "30450221\(r)0220\(s)00", "30460221\(r)022100\(s)", "3081450221\(r)0220\(s)",
      "30440220\(r.dropFirst(2))0220\(s)", "30800221\(r)0220\(s)0000", "3006020101020101",
      "3006020100020100",
    ] {
      #expect(!verifies(text))
    }
  }
}
