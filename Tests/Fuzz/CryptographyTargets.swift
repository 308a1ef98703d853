@testable import Cryptography

extension FuzzTarget {
  static let ofCryptography = [
    FuzzTarget("base64url", atMost: 256, testBase64),
    FuzzTarget("cbor", atMost: 2048, testCBOR),
    FuzzTarget("der", atMost: 2048, testDER),
  ]

  /// Each text has one meaning, and each meaning one text.
  private static func testBase64(_ input: [UInt8]) {
    for (decode, encode) in [
      (base64URLDecoded as (Span<UInt8>) -> [UInt8]?, base64URLEncoded as ([UInt8]) -> String),
      (base64Decoded, base64Encoded), (hexDecoded, hexEncoded),
    ] {
      if let bytes = decode(input.span) {
        require(encode(bytes).utf8.elementsEqual(input), "\(bytes) has two texts")
      }
      require(decode(encode(input).utf8.span) == input, "\(input) is not decoded")
    }
  }

  private static func testCBOR(_ input: [UInt8]) {
    var rest = input[...]
    guard let value = try? CBOR(takenFrom: &rest) else { return }
    require(value.encodedSize == input.count - rest.count, "\(value) has another form")
    if let key = try? COSEKey(value), let point = key.uncompressedPoint {
      require(point.count == 65, "a point of \(point.count) bytes")
    }
  }

  private static func testDER(_ input: [UInt8]) {
    if let certificate = try? Certificate(der: input[...]) {
      require(certificate.der == input, "the certificate has another form")
      _ = certificate.isAuthority
      _ = certificate.publicKey?.uncompressedPoint
      _ = certificate.extensionValue("1.2.840.113635.100.8.2")
    }
    _ = try? P256PublicKey(subjectPublicKeyInfo: input).uncompressedPoint
    if let raw = P256.rawSignature(input[...]) {
      let again = P256.derSignature(raw).flatMap { P256.rawSignature($0[...]) }
      require(again == raw, "the signature is written as another one")
    }
  }
}

extension CBOR {
  /// The size of the only accepted encoding, in bytes.
  fileprivate var encodedSize: Int {
    switch self {
    case .integer(let number): Self.headSize(number < 0 ? -1 - number : number)
    case .bytes(let bytes): Self.headSize(Int64(bytes.count)) + bytes.count
    case .text(let text): Self.headSize(Int64(text.utf8.count)) + text.utf8.count
    case .array(let elements):
      elements.reduce(Self.headSize(Int64(elements.count))) { $0 + $1.encodedSize }
    case .map(let members):
      members.reduce(Self.headSize(Int64(members.count))) {
        $0 + $1.key.value.encodedSize + $1.value.encodedSize
      }
    case .boolean, .null: 1
    }
  }

  private static func headSize(_ argument: Int64) -> Int {
    switch argument {
    case ..<24: 1
    case ..<256: 2
    case ..<65_536: 3
    case ..<4_294_967_296: 5
    default: 9
    }
  }
}

extension CBOR.Key {
  fileprivate var value: CBOR {
    switch self {
    case .integer(let number): .integer(number)
    case .text(let name): .text(name)
    }
  }
}
