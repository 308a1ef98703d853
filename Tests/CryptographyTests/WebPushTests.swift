import Base
import Support
import Testing

@testable import Cryptography

/// The vectors of RFC 8291 (appendix A), RFC 8188 (section 3), RFC 8292 (section 2.4) and RFC 5869 (appendix A).
@Suite struct WebPushTests {
  static let senderPoint = decoded(
    "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8")
  static let browserPoint = decoded(
    "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4")
  static let authentication = decoded("BTBZMqHH6r4Tts7J_aSIgg")
  static let salt = decoded("DGv6ra1nlYgDCS1FRnbzlw")
  /// The body of the request in section 5.
  static let body = decoded(
    """
    DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27ml\
    mlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPT\
    pK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN
    """)
  static let content = decoded("V2hlbiBJIGdyb3cgdXAsIEkgd2FudCB0byBiZSBhIHdhdGVybWVsb24")

  @Test func theMessageOfRFC8291IsEncryptedAsThere() throws {
    let sender = try privateKey("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw")
    #expect(try point(of: sender) == Self.senderPoint)
    #expect(String(decoding: Self.content, as: UTF8.self).hasSuffix("be a watermelon"))
    let keys = try WebPushKeys(point: Self.browserPoint, authentication: Self.authentication)
    let body = try keys.encrypt(Self.content, from: sender, salt: Self.salt)
    #expect(body == Self.body)
  }

  @Test func theIntermediateValuesOfRFC8291AreThose() throws {
    let sender = try privateKey("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw")
    let browser = try privateKey("q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94")
    #expect(try point(of: browser) == Self.browserPoint)
    let shared = try sender.sharedSecret(with: browser.publicKey())
    let same = try browser.sharedSecret(with: sender.publicKey())
    let (ours, theirs) = (text(of: shared), text(of: same))
    #expect(ours == "kyrL1jIIOHEzg3sM2ZWRHDRB62YACZhhSlknJ672kSs")
    #expect(theirs == ours)
    let info = Array("WebPush: info\0".utf8) + Self.browserPoint + Self.senderPoint
    let material = hkdfSHA256(shared, salt: Self.authentication, info: info, count: 32)
    let materialText = text(of: material)
    #expect(materialText == "S4lYMb_L0FxCeq0WhDx813KgSYqU26kOyzWUdsXYyrg")
    let key = hkdfSHA256(
      material, salt: Self.salt, info: Self.decoded("Q29udGVudC1FbmNvZGluZzogYWVzMTI4Z2NtAA"),
      count: 16)
    let keyText = text(of: key)
    #expect(keyText == "oIhVW04MRdy2XN9CiKLxTg")
    let nonce = hkdfSHA256(
      material, salt: Self.salt, info: Self.decoded("Q29udGVudC1FbmNvZGluZzogbm9uY2UA"), count: 12)
    let nonceText = text(of: nonce)
    #expect(nonceText == "4h_95klXJ5E_qnoN")
  }

  @Test func theBrowserOfRFC8291ReadsTheMessage() throws {
    let browser = try privateKey("q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94")
    let message = try EncryptedContent(Self.body)
    #expect(message.keyID == Self.senderPoint)
    let read = try message.open(as: browser, authentication: Self.authentication)
    #expect(read == Self.content)
  }

  @Test func theFirstExampleOfRFC8188IsEncryptedAsThere() throws {
    let encrypted = Self.decoded(
      "I1BsxtFttlv3u_Oo94xnmwAAEAAA-NAVub2qFgBEuQKRapoZu-IxkIva3MEB1PD-ly8Thjg")
    let material = secret(Self.decoded("yqdlZ-tYemfogSmv7Ws5PQ"))
    let content = Array("I am the walrus".utf8)
    let ours = try encryptedContent(
      content, with: material, salt: Array(encrypted[..<16]), keyID: [])
    #expect(ours == encrypted)
    let read = try EncryptedContent(encrypted).open(with: material)
    #expect(read == content)
  }

  /// We write one record; the tests' reader reads the two records of the example.
  @Test func theSecondExampleOfRFC8188IsRead() throws {
    let message = try EncryptedContent(
      Self.decoded(
        """
        uNCkWiNYzKTnBN9ji3-qWAAAABkCYTHOG8chz_gnvgOqdGYovxyjuqRyJFjEDyoF\
        1Fvkj6hQPdPHI51OEUKEpgz3SsLWIqS_uA
        """))
    #expect(message.recordSize == 25)
    #expect(message.keyID == Array("a1".utf8))
    let material = secret(Self.decoded("BO3ZVPxUlnLORbVGMpbT1Q"))
    let read = try message.open(with: material)
    #expect(read == Array("I am the walrus".utf8))
  }

  @Test(arguments: [0, 1, 100, WebPushKeys.maximumContentSize])
  func whatIsEncryptedForABrowserItReads(size: Int) throws {
    let browser = try P256PrivateKey.generate()
    let authentication = randomBytes(16)
    let keys = try WebPushKeys(
      point: browser.publicKey().uncompressedPoint, authentication: authentication)
    let content = randomBytes(size)
    let first = try keys.encrypt(content)
    let second = try keys.encrypt(content)
    #expect(first.count == size + 103)
    #expect(first.count <= 4096)
    let read = try EncryptedContent(first).open(as: browser, authentication: authentication)
    #expect(read == content)
    #expect(first[..<16] != second[..<16], "the salt is new")
    #expect(first[21..<86] != second[21..<86], "the key is new")
  }

  @Test func aFlippedBitAnotherKeyAndAnotherSecretReadNothing() throws {
    let browser = try privateKey("q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94")
    for index in 86..<Self.body.count {
      var body = Self.body
      body[index] ^= 1
      let message = try EncryptedContent(body)
      #expect(throws: EncryptedContent.Malformed.self) {
        try message.open(as: browser, authentication: Self.authentication)
      }
    }
    let message = try EncryptedContent(Self.body)
    #expect(throws: EncryptedContent.Malformed.self) {
      try message.open(as: browser, authentication: Self.salt)
    }
    let stranger = try P256PrivateKey.generate()
    #expect(throws: EncryptedContent.Malformed.self) {
      try message.open(as: stranger, authentication: Self.authentication)
    }
  }

  @Test func keysOfBrowsersThatAreNoneAreRefused() throws {
    var offCurve = Self.browserPoint
    offCurve[64] ^= 1
    for point in [[], offCurve, Array(Self.browserPoint.dropLast()), Self.browserPoint + [0]] {
      #expect(throws: CryptographyError.malformed) {
        try WebPushKeys(point: point, authentication: Self.authentication)
      }
    }
    for size in [0, 15, 17] {
      #expect(throws: CryptographyError.malformed) {
        try WebPushKeys(
          point: Self.browserPoint, authentication: [UInt8](repeating: 1, count: size))
      }
    }
  }

  @Test func hkdfGivesWhatRFC5869Says() throws {
    let short = bytes(
      of: hkdfSHA256(
        secret([UInt8](repeating: 0x0b, count: 22)), salt: Array(0...12), info: Array(0xf0...0xf9),
        count: 42))
    #expect(
      hexEncoded(short)
        == "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865")
    let long = bytes(
      of: hkdfSHA256(
        secret(Array(0...0x4f)), salt: Array(0x60...0xaf), info: Array(0xb0...0xff), count: 82))
    #expect(
      hexEncoded(long) == """
        b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e\
        590e09da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87
        """)
  }

  @Test func keysSurviveAFile() throws {
    let key = try P256PrivateKey.generate()
    let text = String(decoding: try key.pem(), as: UTF8.self)
    let (before, after) = (try point(of: key), try point(of: P256PrivateKey(pem: text)))
    #expect(after == before)
    #expect(text.hasPrefix("-----BEGIN PRIVATE KEY-----"))
  }
}

extension WebPushTests {
  static func decoded(_ text: String) -> [UInt8] { base64URLDecoded(text)! }

  private func point(of key: P256PrivateKey) throws -> [UInt8] {
    try key.publicKey().uncompressedPoint
  }

  private func bytes(of secret: borrowing Secret) -> [UInt8] {
    secret.withBytes { $0.withUnsafeBufferPointer { Array($0) } }
  }

  private func text(of secret: borrowing Secret) -> String { base64URLEncoded(bytes(of: secret)) }

  private func secret(_ bytes: [UInt8]) -> Secret { Secret(copying: bytes.span) }

  /// The key with this scalar. The rest of the PKCS#8 text is constant.
  private func privateKey(_ scalar: String) throws -> P256PrivateKey {
    let prefix = hexDecoded(
      "3041020100301306072a8648ce3d020106082a8648ce3d030107042730250201010420")!
    let body = base64Encoded(prefix + Self.decoded(scalar))
    return try P256PrivateKey(
      pem: "-----BEGIN PRIVATE KEY-----\n\(body)\n-----END PRIVATE KEY-----\n")
  }
}
