import Base
import Cryptography
import Foundation
import Store
import Support
import Testing

/// The tokens of a paired phone.
struct Phone: Sendable {
  let access: String
  let refresh: String
}

extension Site {
  func pairingToken() throws -> String { try curl("/api/pair/info").string("token") }

  func pair(userAgent: String = "cdev/1.0") throws -> Phone {
    let answer = curl(
      "/api/auth/exchange", "--user-agent", userAgent, "--data",
      #"{"pairing_token":"\#(try pairingToken())"}"#)
    return try phone(answer)
  }

  /// The tokens in an answer to an exchange or a refresh.
  func phone(_ answer: Answer) throws -> Phone {
    try #require(answer.status == 200, "\(answer.body)")
    return Phone(
      access: try answer.string("access_token"), refresh: try answer.string("refresh_token"))
  }

  func ticket(_ access: String) throws -> String {
    try post("/api/auth/ticket", "{}", "Authorization: Bearer \(access)").string("ticket")
  }

  /// Tokens for the server and phone of an access token, signed with the site's key, that expired a
  /// second ago.
  func expiredTokens(like access: String) throws -> [String] {
    let text = try String(contentsOfFile: "\(state)/secrets/credential-keys", encoding: .utf8)
    let keys = try Keyring(parsing: text)
    let live = try #require(PairingToken(access, signedWith: keys))
    let now = Timestamp.now()
    return [PairingToken.Kind.access, .pairing].map { kind in
      PairingToken(
        kind, serverID: live.serverID, issuedAt: now - kind.lifetime,
        expiresAt: now - .seconds(2), nonce: live.nonce,
        deviceID: kind == .pairing ? nil : live.deviceID
      ).signedText(with: keys.newest)
    }
  }

  /// The status of nginx's answer to a WebSocket handshake; also tests a socket that opens.
  func upgrade(_ target: String, _ field: String = "Accept: */*") -> Int {
    let wire = Wire(port: port)
    wire.write(
      "GET \(target) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\(field)\r\n\r\n"
    )
    guard let head = wire.head(), let status = Int(head.split(separator: " ")[1]) else { return 0 }
    if status == 101 {
      for character in "ping" {
        wire.write(String(character))
        #expect(wire.byte() == character.asciiValue)
      }
    }
    return status
  }
}
