package import Base
package import Cryptography

/// A token of the pairing family: a prefix, and `{"p":payload,"s":signature}` in base64url. Both parts
/// are base64url too. The signature is HMAC-SHA256 of the payload's bytes.
package struct PairingToken: Sendable, Equatable {
  package enum Kind: String, CaseIterable, Sendable {
    case pairing, access, refresh

    package var prefix: String {
      switch self {
      case .pairing: "cdev_p_"
      case .access: "cdev_s_"
      case .refresh: "cdev_r_"
      }
    }

    package var lifetime: Duration {
      switch self {
      case .pairing: .seconds(3600)
      case .access: .seconds(900)
      case .refresh: .seconds(7 * 86_400)
      }
    }
  }

  /// Bytes of the longest text that can be a token.
  package static let maximumSize = 1024
  /// Bytes of a server id and of a nonce, which are 16 characters of base64url.
  package static let idSize = 12

  package let kind: Kind
  package let serverID: String
  /// Whole seconds.
  package let issuedAt: Timestamp
  /// Whole seconds: the last second in which the token is valid.
  package let expiresAt: Timestamp
  package let nonce: String
  /// The id of the paired phone; nil for a pairing token.
  package let deviceID: String?

  /// - Parameter expiresAt: by default, the end of the kind's lifetime.
  package init(
    _ kind: Kind, serverID: String, issuedAt: Timestamp, expiresAt: Timestamp? = nil,
    nonce: String, deviceID: String? = nil
  ) {
    self.kind = kind
    self.serverID = serverID
    self.issuedAt = Timestamp(seconds: issuedAt.seconds)
    self.expiresAt = Timestamp(seconds: (expiresAt ?? issuedAt + kind.lifetime).seconds)
    self.nonce = nonce
    self.deviceID = deviceID
  }

  package func hasExpired(at now: Timestamp) -> Bool { now.seconds > expiresAt.seconds }

  /// The token signed with `key`.
  package func signedText(with key: Key) -> String {
    let payload = payload
    let parts = JSONWriter.object { json in
      json.member("p", base64URLEncoded(payload))
      json.member("s", base64URLEncoded(hmacSHA256(payload, with: key)))
    }
    return kind.prefix + base64URLEncoded(parts)
  }

  /// Reads `text`, if it is a token that a key of `keyring` signed. The caller checks whether it
  /// has expired or is spent.
  ///
  /// Accepts only the output of ``signedText(with:)``: no other spelling, order or member.
  package init?(_ text: String, signedWith keyring: Keyring) {
    guard text.utf8.count <= Self.maximumSize,
      let kind = Kind.allCases.first(where: { text.hasPrefix($0.prefix) }),
      let parts = base64URLDecoded(String(text.utf8.dropFirst(kind.prefix.utf8.count)) ?? ""),
      let (payload, signature) = Self.payloadAndSignature(of: parts),
      keyring.keys.contains(where: {
        isEqualInConstantTime(signature, hmacSHA256(payload, with: $0))
      }),
      let token = try? Self(kind, payload: payload),  // every error means: not a token
      token.payload == payload
    else { return nil }
    self = token
  }
}

extension PairingToken {
  private var payload: [UInt8] {
    JSONWriter.object { json in
      json.member("v", 1)
      json.member("type", kind.rawValue)
      json.member("server_id", serverID)
      json.member("issued_at", issuedAt.seconds)
      json.member("expires_at", expiresAt.seconds)
      json.member("nonce", nonce)
      json.member("mode", "local")
      json.member("agent_id", serverID)
      if let deviceID { json.member("device_id", deviceID) }
    }
  }

  /// Reads the members that differ between payloads of one kind. The caller checks all others by
  /// writing the payload again.
  private init(_ kind: Kind, payload: [UInt8]) throws {
    var (serverID, nonce, deviceID) = ("", "", nil as String?)
    var (issuedAt, expiresAt) = (Int64(0), Int64(0))
    var reader = JSONReader(payload)
    try reader.object { name, value in
      switch name {
      case "server_id": serverID = try value.string()
      case "issued_at": issuedAt = try value.integer()
      case "expires_at": expiresAt = try value.integer()
      case "nonce": nonce = try value.string()
      case "device_id": deviceID = try value.string()
      default: try value.skip()
      }
    }
    try reader.end()
    guard Self.isID(serverID), Self.isID(nonce), (deviceID == nil) == (kind == .pairing),
      deviceID?.isEmpty != true, let issuedAt = Timestamp(checkedSeconds: issuedAt),
      let expiresAt = Timestamp(checkedSeconds: expiresAt)
    else { throw JSONReader.Failure.wrongType }
    self.init(
      kind, serverID: serverID, issuedAt: issuedAt, expiresAt: expiresAt, nonce: nonce,
      deviceID: deviceID)
  }

  /// The two values of `{"p":"…","s":"…"}`, of which the second always has the same length.
  private static func payloadAndSignature(of parts: [UInt8]) -> ([UInt8], [UInt8])? {
    let (begin, middle, end) = (Array(#"{"p":""#.utf8), Array(#"","s":""#.utf8), Array(#""}"#.utf8))
    let signatureSize = 43  // 32 bytes in base64url
    let signatureStart = parts.count - end.count - signatureSize
    let payloadEnd = signatureStart - middle.count
    guard payloadEnd >= begin.count, parts.starts(with: begin),
      parts[payloadEnd...].starts(with: middle), parts.suffix(end.count).elementsEqual(end),
      let payload = base64URLDecoded(parts.span.extracting(begin.count..<payloadEnd)),
      let signature = base64URLDecoded(
        parts.span.extracting(signatureStart..<(signatureStart + signatureSize)))
    else { return nil }
    return (payload, signature)
  }

  private static func isID(_ text: String) -> Bool {
    base64URLDecoded(text)?.count == idSize
  }
}

/// The nonces of a paired phone's tokens show the place of the token: the generation of its refresh tokens in
/// four bytes, a mark, and the branch in three bytes. Tokens from before tokens had branches have no mark, and
/// the branch 0.
extension PairingToken {
  private static let branchMark: [UInt8] = [0xb7, 0x2a, 0x9d]

  static func nonce(at place: TokenPlace, _ rest: some Sequence<UInt8>) -> String {
    func bytes(_ number: Int64) -> [UInt8] {
      withUnsafeBytes(of: UInt32(truncatingIfNeeded: number).bigEndian) { Array($0) }
    }
    var nonce = bytes(place.generation) + branchMark
    nonce += bytes(place.branch).dropFirst()
    nonce += rest
    return base64URLEncoded(Array(nonce.prefix(idSize)))
  }

  /// The place of an access or a refresh token.
  var place: TokenPlace {
    let bytes = base64URLDecoded(nonce) ?? []
    func number(_ bytes: ArraySlice<UInt8>) -> Int64 { bytes.reduce(0) { $0 << 8 | Int64($1) } }
    let isMarked = bytes.dropFirst(4).starts(with: Self.branchMark)
    return TokenPlace(
      generation: number(bytes.prefix(4)),
      branch: isMarked ? number(bytes.dropFirst(7).prefix(3)) : 0)
  }
}

extension Timestamp {
  /// nil outside of the years 1970 to 9999.
  fileprivate init?(checkedSeconds seconds: Int64) {
    guard (0...253_402_300_799).contains(seconds) else { return nil }
    self.init(seconds: seconds)
  }
}
