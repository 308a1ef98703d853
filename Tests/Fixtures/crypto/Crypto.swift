import COpenSSL
import Foundation

// The part of the package swift-crypto that the manual's page for shops uses, on top of OpenSSL.

public struct SymmetricKey {
  fileprivate let bytes: [UInt8]

  public init(data: some ContiguousBytes) { bytes = data.withUnsafeBytes(Array.init) }
}

public enum SHA256 {}

public enum HMAC<H> {}

extension HMAC where H == SHA256 {
  public static func isValidAuthenticationCode(
    _ authenticationCode: some ContiguousBytes, authenticating authenticatedData: some DataProtocol,
    using key: SymmetricKey
  ) -> Bool {
    let data = Array(authenticatedData)
    var code = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
    var length: UInt32 = 0
    _ = COpenSSL.HMAC(
      EVP_sha256(), key.bytes, Int32(key.bytes.count), data, data.count, &code, &length)
    return authenticationCode.withUnsafeBytes { Array($0) == Array(code.prefix(Int(length))) }
  }
}
