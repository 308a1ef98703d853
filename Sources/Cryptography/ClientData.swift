import Base

/// The challenge in client data, for its lookup in the database. Checks nothing else: verify the
/// ceremony too.
///
/// - Returns: nil if `json` is not client data, or if the challenge is not base64url.
package func challenge(inClientData json: [UInt8]) -> [UInt8]? {
  do { return base64URLDecoded(try ClientData(json).challenge) } catch { return nil }
}

/// The browser's description of the signed ceremony (WebAuthn §5.8.1).
struct ClientData {
  static let maximumSize = 4096

  let type: String
  let challenge: String
  let origin: String
  let isCrossOrigin: Bool
  let topOrigin: String?

  /// Unknown members are ignored. A member that comes twice is refused.
  ///
  /// - Parameter json: UTF-8. A byte order mark in front is ignored, as the standard says.
  init(_ json: [UInt8]) throws(WebAuthnError) {
    guard json.count <= Self.maximumSize else { throw .clientData }
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    var texts: [String: String] = [:]
    var isCrossOrigin = false
    do {
      var reader = JSONReader(json.starts(with: mark) ? Array(json.dropFirst(mark.count)) : json)
      var names: Set<String> = []
      try reader.object { name, value in
        guard names.insert(name).inserted else { throw WebAuthnError.clientData }
        switch name {
        case "type", "challenge", "origin", "topOrigin": texts[name] = try value.string()
        case "crossOrigin": isCrossOrigin = try value.boolean()
        default: try value.skip()
        }
      }
      try reader.end()
    } catch {
      throw .clientData
    }
    guard let type = texts["type"], let challenge = texts["challenge"], let origin = texts["origin"]
    else { throw .clientData }
    self.type = type
    self.challenge = challenge
    self.origin = origin
    self.isCrossOrigin = isCrossOrigin
    topOrigin = texts["topOrigin"]
  }
}
