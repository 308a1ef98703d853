import Foundation
import Support
import Testing

@testable import API

/// The walks know every route and every name that a route reads.
@Suite struct WalkNamesTests {
  @Test(arguments: [
    ("DELETE", "/api/mobile/auth/biometric", ["?deviceId", "deviceId"]),
    ("GET", "/api/status", ["?token"]), ("POST", "/account/email", ["token", "email"]),
    ("POST", "/api/mobile/payment/:requestId/approve", ["cardId"]),
    (
      "POST", "/api/merchant/payment/initiate",
      ["requestId", "cardId", "amount", "currency", "orderId"]
    ),
  ])
  func theNamesOfARouteAreThoseOfItsDescription(
    method: String, path: String, names: [String]
  ) throws {
    let route = Family.all.flatMap(\.routes).first { $0.method == method && $0.path == path }
    #expect(Set(RouteNames.names(of: try #require(route))) == Set(names))
  }

  @Test func everyNameThatRoutesReadHasValues() throws {
    let made = Set(RouteNames.all.map { $0.hasPrefix("?") ? String($0.dropFirst()) : $0 })
      .union(Self.fields).union(Self.parts)
    let missing = try Self.namesRead().subtracting(made).sorted()
    #expect(missing == [], "describe them in the Operation, and put them into ValueNames")
  }

  /// Fields that the walks send, and fields that do not affect access.
  private static let fields: Set<String> = [
    "Authorization", "Cookie", "Origin", "X-API-Key", "X-Device-Credential", "X-Username",
    "x-api-key", "Idempotency-Key",
    "Content-Type",
    "Access-Control-Request-Headers", "Access-Control-Request-Method", "Host", "If-None-Match",
    "Referer",
    "Sec-Fetch-Dest", "Sec-Fetch-Mode", "Sec-Fetch-Site", "User-Agent", "X-App-Bundle-ID",
    "X-App-Version", "X-Forwarded-For", "X-Platform", "X-iOS-App-Bundle-ID", "X-iOS-App-Version",
    "X-iOS-Bundle-ID", "X-iOS-Development",
    // The walks have no key that Apple attests.
    "X-Request-Challenge", "X-iOS-App-Attest-Assertion", "X-iOS-App-Attest-Key",
  ]

  /// Names inside composed values and in tokens, and other spellings.
  private static let parts: Set<String> = [
    "assertion", "attestationObject", "authenticatorData", "clientDataJSON", "rawId", "response",
    "type",
    "userHandle", "exp", "gen", "jti", "sid", "from", "to", "attestation", "bundleID", "bundleId",
    "challengeId", "keyID", "keyId", "deviceToken", "masterKey", "userID", "bytes", "text", "value",
    "auth", "p256dh", "quantity", "unitPrice", "liveGames", "mutedGames", "quietHours", "timeZone",
  ]

  /// Names of queries, forms, header fields and JSON members in the source of the API.
  private static func namesRead() throws -> Set<String> {
    let folder = projectSchema.deletingLastPathComponent().appending(path: "Sources/API")
    let files = try #require(FileManager.default.enumerator(atPath: folder.path)).compactMap {
      $0 as? String
    }
    var names: Set<String> = []
    for file in files where file.hasSuffix(".swift") && !file.contains("Messages") {
      let text = try String(contentsOf: folder.appending(path: file), encoding: .utf8)
      let plain =
        /\b(?:queryItem|requestURIQueryItem|flag|formItem|field|fieldValues|firstValue)\("([A-Za-z_-]+)"/
      names.formUnion(text.matches(of: plain).map { String($0.1) })
      names.formUnion(text.matches(of: /\bitem: "(\w+)"/).map { String($0.1) })
      names.formUnion(text.matches(of: /case "(\w+)":\n/).map { String($0.1) })
      for object in text.matches(of: /struct \w+: Decodable \{\n((?:.*\n)*?)(?:  )?\}/) {
        names.formUnion(object.1.matches(of: /\blet (\w+): [A-Z\[]/).map { String($0.1) })
        names.formUnion(object.1.matches(of: /case \w+ = "(\w+)"/).map { String($0.1) })
      }
      for spellings in text.matches(of: /members\.decode\(([^)]*)\)/) {
        names.formUnion(spellings.1.matches(of: /"(\w+)"/).map { String($0.1) })
      }
    }
    names.remove("Refresh")  // a header field of answers
    return names
  }
}
