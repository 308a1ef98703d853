import Cryptography
import Foundation

/// The vectors in folders of `Tests/Fixtures`.
func vectors<Vector: Decodable>(in folders: String..., as type: Vector.Type) throws -> [Vector] {
  let fixtures = URL(filePath: #filePath).appending(path: "../../Fixtures").standardizedFileURL
  return try folders.flatMap { folder in
    try FileManager.default.contentsOfDirectory(
      at: fixtures.appending(path: folder), includingPropertiesForKeys: nil
    ).filter { $0.pathExtension == "json" }.sorted { $0.path < $1.path }
      .map { try JSONDecoder().decode(type, from: Data(contentsOf: $0)) }
  }
}

/// Bytes from base64 of either alphabet in a file.
struct Base64Bytes: Decodable, Equatable {
  let bytes: [UInt8]

  init(from decoder: any Decoder) throws {
    let text = try decoder.singleValueContainer().decode(String.self)
    guard let bytes = base64Decoded(text) ?? base64URLDecoded(text) else {
      throw DecodingError.dataCorrupted(
        .init(codingPath: decoder.codingPath, debugDescription: "not base64"))
    }
    self.bytes = bytes
  }
}

/// `bytes` with bit `number` flipped.
func flip(_ number: Int, of bytes: [UInt8]) -> [UInt8] {
  var flipped = bytes
  flipped[number / 8] ^= 1 << (number % 8)
  return flipped
}
