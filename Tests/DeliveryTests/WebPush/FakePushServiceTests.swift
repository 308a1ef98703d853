import Base
import Cryptography
import Foundation
import Support
import Testing

@testable import Delivery

/// The tests' push service must be able to refuse.
@Suite struct FakePushServiceTests {
  /// The status of a message with correct fields except `changes`.
  private func status(
    _ service: FakePushService, _ vapid: VAPID, body: [UInt8]? = nil,
    changing changes: [String: String?] = [:], audience: String? = nil,
    expiring lifetime: Duration = .seconds(3600)
  ) throws -> Int {
    let browser = try WebPushKeys(
      point: P256PrivateKey.generate().publicKey().uncompressedPoint,
      authentication: randomBytes(16))
    var fields: [String: String?] = [
      "TTL": "60", "Content-Encoding": "aes128gcm", "Urgency": "high",
      "Authorization": try vapid.authorization(
        for: audience ?? service.origin, expiresAt: .now() + lifetime),
    ]
    fields.merge(changes) { $1 }
    let client = HTTPClient(
      userAgent: "test", trusting: service.certificatesFile, clock: .still)
    let lines = fields.compactMap { name, value in value.map { "\(name): \($0)" } }
    let answer = try client.post(
      body ?? browser.encrypt(Array("{}".utf8)), to: .configured(service.endpoint("a")),
      fields: lines,
      limits: HTTPClient.Limits())
    return answer.status
  }

  @Test func itRefusesAsRealOnesDo() throws {
    let key = try P256PrivateKey.generate()
    let vapid = try VAPID(key: key, subject: "mailto:a@example.org")
    let stranger = try VAPID(key: .generate(), subject: "mailto:a@example.org")
    let nobody = try VAPID(key: key, subject: "a@example.org")
    let service = try FakePushService(applicationServerKey: vapid.publicKey)
    defer { service.end() }
    #expect(try status(service, vapid) == 201)
    #expect(try status(service, vapid, changing: ["TTL": nil]) == 400)
    #expect(try status(service, vapid, changing: ["Content-Encoding": nil]) == 400)
    #expect(try status(service, vapid, changing: ["Content-Encoding": "aesgcm"]) == 400)
    #expect(try status(service, vapid, changing: ["Urgency": "now"]) == 400)
    #expect(
      try status(service, vapid, changing: ["Topic": String(repeating: "x", count: 33)]) == 400)
    #expect(try status(service, vapid, changing: ["Topic": "a+b"]) == 400)
    #expect(try status(service, vapid, body: [1, 2, 3]) == 400)
    #expect(try status(service, vapid, body: [UInt8](repeating: 1, count: 4097)) == 413)
    #expect(try status(service, vapid, changing: ["Authorization": nil]) == 401)
    #expect(try status(service, vapid, changing: ["Authorization": "vapid t=a.b.c, k=d"]) == 401)
    #expect(try status(service, vapid, audience: "https://other.example") == 403)
    #expect(try status(service, vapid, expiring: .seconds(-1)) == 403)
    #expect(try status(service, vapid, expiring: .seconds(90_000)) == 403)
    #expect(try status(service, stranger) == 403)
    #expect(try status(service, nobody) == 403)
  }
}
