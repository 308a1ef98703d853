import Foundation

/// A file of `Tests/Fixtures`.
package func fixture(_ path: String) throws -> String {
  let folder = URL(filePath: #filePath).appending(path: "../../Fixtures").standardizedFileURL
  return try String(contentsOf: folder.appending(path: path), encoding: .utf8)
}
