import Base
import Cryptography
import Foundation
import Store

/// The received pushes, and the notifications that the devices show.
final class Record {
  private let folder: String
  private let file: FileHandle
  private var lines: [UInt8] = []
  /// By device token, then by collapse id, or apns-id without a collapse id.
  private var visible: [String: [String: String]] = [:]
  private var tokenHashes: [[UInt8]: String] = [:]

  init(folder: String) throws {
    self.folder = folder
    let path = "\(folder)/received.jsonl"
    try Data().write(to: URL(filePath: path))
    file = try FileHandle(forWritingTo: URL(filePath: path))
  }

  /// - Parameter status: 0 for a request without an answer.
  func add(_ request: PushRequest, connection: Int, status: Int, reason: String?) {
    let payload = String(decoding: request.payload, as: UTF8.self)
    let id = String(decoding: request.id, as: UTF8.self)
    let collapseID = String(decoding: request.collapseID, as: UTF8.self)
    let token = request.token
    lines += JSONWriter.object {
      $0.member("token", token)
      $0.member("id", id)
      $0.member("collapseID", collapseID)
      $0.member("topic", String(decoding: request.topic, as: UTF8.self))
      $0.member("expiration", String(decoding: request.expiration, as: UTF8.self))
      $0.member("priority", String(decoding: request.priority, as: UTF8.self))
      $0.member("payload", payload)
      $0.member("providerTokenHash", hash(request.authorization))
      $0.member("connection", Int64(connection))
      $0.member("status", Int64(status))
      $0.member("reason", reason)
    }
    lines.append(UInt8(ascii: "\n"))
    if status == 200 || status == 0 {
      visible[token, default: [:]][collapseID.isEmpty ? id : collapseID] = payload
    }
  }

  /// Called when answers are written, so that a reader of the file knows that a recorded request is answered.
  func flushIfLarge() {
    if lines.count > 1 << 16 { flush() }
  }

  func flush() {
    guard !lines.isEmpty else { return }
    file.write(Data(lines))
    lines.removeAll(keepingCapacity: true)
  }

  func end() throws {
    flush()
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    try encoder.encode(visible).write(to: URL(filePath: "\(folder)/visible.json"))
  }

  private func hash(_ authorization: [UInt8]) -> String {
    if let known = tokenHashes[authorization] { return known }
    let hash = hexEncoded(sha256(authorization))
    tokenHashes[authorization] = hash
    return hash
  }
}
