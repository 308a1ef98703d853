import Base
import Cryptography
import HTTP
import Logging
import MariaDB
import Store

@testable import API

extension FuzzTarget {
  static let ofRequests = [FuzzTarget("request", atMost: 4096, testRequest)]

  /// A whole request to the responder: `METHOD TARGET`, fields on a line each, an empty line, and the
  /// body. In a field, `ACCESS` stands for a valid access token. There is no database, so the
  /// request gets as far as its first statement.
  private static func testRequest(_ input: [UInt8]) {
    let end = input.firstRange(of: "\n\n".utf8)
    let head = input[..<(end?.lowerBound ?? input.endIndex)]
    let body = end.map { Array(input[$0.upperBound...]) } ?? []
    let words = head.prefix { $0 != UInt8(ascii: "\n") }.split(
      separator: UInt8(ascii: " "), maxSplits: 1)
    guard words.count == 2 else { return }
    let fields = fields(of: Array(head.dropFirst(words[0].count + words[1].count + 1))).map {
      (name: $0.name, value: $0.value.replacing("ACCESS", with: Site.accessToken))
    }
    let target = words[1].prefix { $0 != 0 }
    let query = target.drop { $0 != UInt8(ascii: "?") }.dropFirst()
    let method = words[0].prefix { $0 != 0 }
    let variables: [(name: String, value: [UInt8])] = [
      ("REQUEST_METHOD", Array(method)), ("REQUEST_URI", Array(target)),
      ("QUERY_STRING", Array(query)), ("REMOTE_ADDR", Array("127.0.0.1".utf8)),
    ]
    var entries = variables.map { Array($0.name.utf8) + "=".utf8 + $0.value }
    for field in fields { entries.append(Array("\(field.name.variable)=\(field.value)".utf8)) }
    let parameters = Parameters(entries: entries)
    guard
      let request = Request(
        parameters, body: body, bodyDefect: nil, paths: RequestPaths(source: .target))
    else { return }
    let answer = Site.answer(to: request)
    require(!answer.serialized(for: request.method).isEmpty, "no answer")
  }
}

extension String {
  /// The meta-variable of a field with this name (RFC 3875 §4.1.18).
  fileprivate var variable: String {
    let name = uppercased().replacing("-", with: "_").replacing("=", with: "_")
    return name.hasPrefix("CONTENT_") ? name : "HTTP_\(name)"
  }
}

/// A responder without a database.
enum Site {
  static let keys = try! Keyring(
    parsing: "k1:" + base64URLEncoded([UInt8](repeating: 7, count: 32)))
  private static let paymentKeys = try! ES256Keyring(
    parsing: "k1:jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI")  // RFC 7515 A.3
  private static let boxKeys = try! BoxKeys(
    parsing: "c1:" + base64URLEncoded([UInt8](repeating: 8, count: 32)))
  private static let publicURL = "https://api.example.org"
  private static let now = Timestamp(seconds: 1_795_000_000)

  private static let settings = API.Settings(
    environment: .development, publicURLs: [publicURL], jwtKeys: keys, hmacKeys: keys,
    credentialKeys: keys, paymentKeys: paymentKeys, companionKeys: boxKeys.publicKeys,
    wakeSocket: nil, masterKeyHash: sha256("test-master-key-123"),
    webPush: WebPushSettings(publicKey: "BA", services: PushServices()))

  private static let application = Application(
    database: Database(
      ConnectionSettings(socket: "/nonexistent/socket", database: "none", user: "none"),
      mailKeys: settings.mailKeys, beginWaiting: { false }),
    settings: settings, log: Logger(label: "fuzz") { _ in SwiftLogNoOpLogHandler() },
    clock: { now }, random: { [UInt8](repeating: 1, count: $0) }, beginWaiting: { false })

  static let accessToken = JSONWebToken.sign(
    JSONWriter.object { json in
      json.member("sub", "01890a5d-ac96-774b-bcce-b302099a8010")
      json.member("iss", publicURL)
      json.member("aud", "mwsim")
      json.member("iat", now.seconds)
      json.member("exp", now.seconds + 3600)
      json.member("deviceId", "device-1")
      json.member("type", "access")
      json.member("sid", "01890a5d-ac96-774b-bcce-b302099a8011")
      json.member("gen", 1)
    }, with: keys.newest)

  /// The answer, which is no failure of ours: without a database a request gets 503.
  static func answer(to request: Request) -> Response {
    let answer = application.respond(to: request)
    require(answer.status != 500, "\(request.method) \(request.path) fails")
    return answer
  }
}
