import COpenSSL
import Foundation

/// A fake of Apple's App Attest with its own root certificate.
package final class FakeApple: Sendable {
  package static let shared = FakeApple()
  static let validity = (from: 1_577_836_800, to: 2_366_841_600)  // 2020 to 2045

  /// The certificate for the file in `SWITCHBOARD_ATTESTATION_ROOT`.
  package let rootCertificate: String
  private let rootKey = ECKey("P-384")
  private let intermediateKey = ECKey("P-384")
  private let intermediate: [UInt8]

  private init() {
    let root = CertificateToBe("Root", of: rootKey, isAuthority: true)
    let der = root.signed(by: rootKey, named: "Root")
    let base64 = Data(der).base64EncodedString(options: .lineLength64Characters)
    rootCertificate = "-----BEGIN CERTIFICATE-----\n\(base64)\n-----END CERTIFICATE-----\n"
    intermediate = CertificateToBe("Intermediate", of: intermediateKey, isAuthority: true)
      .signed(by: rootKey, named: "Root")
  }

  /// A certificate chain whose leaf certifies `key` and contains `nonce`.
  fileprivate func chain(for key: ECKey, nonce: [UInt8]) -> [[UInt8]] {
    let leaf = CertificateToBe("Leaf", of: key, isAuthority: false, nonce: nonce)
    return [leaf.signed(by: intermediateKey, named: "Intermediate"), intermediate]
  }
}

/// An app on a phone with its own key.
package struct AttestedPhone: Sendable {
  package let appID: String
  package var isProduction = true
  private let key = ECKey("P-256")

  package init(appID: String) { self.appID = appID }

  /// The SHA-256 of the phone's key, as the app sends it.
  package var keyID: String { base64(sha256(key.point)) }

  /// The attestation object, in base64.
  package func attestation(of challenge: [UInt8], by apple: FakeApple = .shared) -> String {
    let kind = isProduction ? "appattest\0\0\0\0\0\0\0" : "appattestdevelop"
    let id = sha256(key.point)
    let credential: CBOR = .map([
      (.number(1), .number(2)), (.number(3), .number(-7)), (.number(-1), .number(1)),
      (.number(-2), .bytes(Array(key.point[1..<33]))),
      (.number(-3), .bytes(Array(key.point[33...]))),
    ])
    let data = authenticatorData(counter: 0) + Array(kind.utf8) + [0, 32] + id + credential.encoded
    let chain = apple.chain(for: key, nonce: sha256(data + sha256(challenge)))
    let statement: CBOR = .map([
      (.text("x5c"), .array(chain.map { .bytes($0) })), (.text("receipt"), .bytes([1, 2, 3])),
    ])
    return base64(
      CBOR.map([
        (.text("fmt"), .text("apple-appattest")), (.text("attStmt"), statement),
        (.text("authData"), .bytes(data)),
      ]).encoded)
  }

  /// The assertion of `clientData`, in base64.
  package func assertion(of clientData: [UInt8], counter: UInt32) -> String {
    let data = authenticatorData(counter: counter)
    let signature = key.sign(sha256(data + sha256(clientData)))
    return base64(
      CBOR.map([
        (.text("signature"), .bytes(signature)), (.text("authenticatorData"), .bytes(data)),
      ]).encoded)
  }

  private func authenticatorData(counter: UInt32) -> [UInt8] {
    sha256(Array(appID.utf8)) + [0x40] + withUnsafeBytes(of: counter.bigEndian) { Array($0) }
  }
}

private func base64(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }

private func sha256(_ bytes: [UInt8]) -> [UInt8] {
  var digest = [UInt8](repeating: 0, count: 32)
  precondition(EVP_Digest(bytes, bytes.count, &digest, nil, EVP_sha256(), nil) == 1)
  return digest
}

/// The part of CBOR that this file writes.
private indirect enum CBOR {
  case number(Int)
  case bytes([UInt8])
  case text(String)
  case array([CBOR])
  case map([(CBOR, CBOR)])

  var encoded: [UInt8] {
    switch self {
    case .number(let value): head(value < 0 ? 1 : 0, value < 0 ? -1 - value : value)
    case .bytes(let bytes): head(2, bytes.count) + bytes
    case .text(let text): head(3, text.utf8.count) + text.utf8
    case .array(let elements): head(4, elements.count) + elements.flatMap(\.encoded)
    case .map(let members):
      head(5, members.count) + members.flatMap { $0.encoded + $1.encoded }
    }
  }

  private func head(_ type: UInt8, _ count: Int) -> [UInt8] {
    switch count {
    case ..<24: [type << 5 | UInt8(count)]
    case ..<256: [type << 5 | 24, UInt8(count)]
    default: [type << 5 | 25, UInt8(count >> 8), UInt8(count & 255)]
    }
  }
}

/// A key pair on a curve, which signs with SHA-256. The corresponding C type is `EVP_PKEY`.
// @unchecked: libcrypto only reads a key while it signs.
private final class ECKey: @unchecked Sendable {
  let handle: OpaquePointer

  init(_ curve: String) {
    let context = EVP_PKEY_CTX_new_from_name(nil, "EC", nil)
    defer { EVP_PKEY_CTX_free(context) }
    var key: OpaquePointer?
    let isMade =
      EVP_PKEY_keygen_init(context) == 1 && EVP_PKEY_CTX_set_group_name(context, curve) == 1
      && EVP_PKEY_generate(context, &key) == 1
    precondition(isMade, "no key")
    handle = key!
  }

  deinit { EVP_PKEY_free(handle) }

  /// The public point, uncompressed.
  var point: [UInt8] {
    var point = [UInt8](repeating: 0, count: 200)
    var size = 0
    let isKnown = EVP_PKEY_get_octet_string_param(
      handle, OSSL_PKEY_PARAM_PUB_KEY, &point, point.count, &size)
    precondition(isKnown == 1, "no point")
    return Array(point[..<size])
  }

  /// The signature of `message`, in DER.
  func sign(_ message: [UInt8]) -> [UInt8] {
    let context = EVP_MD_CTX_new()
    defer { EVP_MD_CTX_free(context) }
    var signature = [UInt8](repeating: 0, count: Int(EVP_PKEY_get_size(handle)))
    var size = signature.count
    let isSigned =
      EVP_DigestSignInit(context, nil, EVP_sha256(), nil, handle) == 1
      && EVP_DigestSign(context, &signature, &size, message, message.count) == 1
    precondition(isSigned, "no signature")
    return Array(signature[..<size])
  }
}

/// An unsigned certificate. The corresponding C type is `X509`.
private final class CertificateToBe {
  private let handle = X509_new()

  init(_ name: String, of key: ECKey, isAuthority: Bool, nonce: [UInt8]? = nil) {
    X509_set_version(handle, 2)
    ASN1_INTEGER_set(X509_get_serialNumber(handle), 1)
    ASN1_TIME_set(X509_getm_notBefore(handle), FakeApple.validity.from)
    ASN1_TIME_set(X509_getm_notAfter(handle), FakeApple.validity.to)
    set(X509_get_subject_name(handle), to: name)
    X509_set_pubkey(handle, key.handle)
    add(
      X509V3_EXT_conf_nid(
        nil, nil, NID_basic_constraints, isAuthority ? "critical,CA:TRUE" : "critical,CA:FALSE"))
    if isAuthority { add(X509V3_EXT_conf_nid(nil, nil, NID_key_usage, "critical,keyCertSign")) }
    if let nonce { add(extensionWith(nonce)) }
  }

  deinit { X509_free(handle) }

  /// The certificate in DER, signed by an issuer.
  func signed(by issuer: ECKey, named name: String) -> [UInt8] {
    set(X509_get_issuer_name(handle), to: name)
    precondition(X509_sign(handle, issuer.handle, EVP_sha256()) > 0, "no certificate")
    var bytes: UnsafeMutablePointer<UInt8>?
    let size = i2d_X509(handle, &bytes)
    defer { CRYPTO_free(bytes, #fileID, 0) }
    return Array(UnsafeBufferPointer(start: bytes, count: Int(size)))
  }

  private func set(_ name: OpaquePointer?, to text: String) {
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, text, -1, -1, 0)
  }

  private func add(_ value: OpaquePointer?) {
    precondition(X509_add_ext(handle, value, -1) == 1, "no extension")
    X509_EXTENSION_free(value)
  }

  private func extensionWith(_ nonce: [UInt8]) -> OpaquePointer? {
    let object = OBJ_txt2obj("1.2.840.113635.100.8.2", 1)
    let value = ASN1_OCTET_STRING_new()
    defer {
      ASN1_OBJECT_free(object)
      ASN1_OCTET_STRING_free(value)
    }
    let content = [0x30, 0x24, 0xA1, 0x22, 0x04, 0x20] + nonce
    ASN1_OCTET_STRING_set(value, content, Int32(content.count))
    return X509_EXTENSION_create_by_OBJ(nil, object, 0, value)
  }
}
