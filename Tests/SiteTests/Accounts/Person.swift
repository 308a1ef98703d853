import Base
import Foundation
import Support
import Testing

/// A person who is signed in on the phone `phone-1`.
struct Person: Sendable {
  let email: String
  let token: String
  let refreshToken: String

  /// A body for both `auth/register` and `auth/login`.
  var body: String { Self.body(email, "phone-1") }
  var bearer: String { "Authorization: Bearer \(token)" }

  fileprivate static func body(_ email: String, _ device: String) -> String {
    """
    {"email":"\(email)","name":"Ann","deviceId":"\(device)","deviceName":"Phone","platform":"ios"}
    """
  }
}

extension Site {
  func post(_ path: String, _ json: String, _ header: String = "Accept: */*") -> Answer {
    curl(path, "--header", header, "--header", "Content-Type: application/json", "--data", json)
  }

  /// Makes an account and signs it in.
  func signUp(
    email: String = "ann@example.org", device: String = "phone-1"
  ) throws -> Person {
    let answer = post("/api/mobile/auth/register", Person.body(email, device))
    try #require(answer.status == 201, "\(answer.body)")
    return Person(
      email: email, token: try answer.token("accessToken"),
      refreshToken: try answer.token("refreshToken"))
  }

  /// Answers the mail about the new account on its page.
  func confirm(_ person: Person, _ answer: String) throws {
    let token = try mailedToken(/account\/confirm\?token=(\S+)/, to: person.email)
    #expect(curl("/account/confirm?token=\(token)").body.contains("Is this you?"))
    let page = curl("/account/confirm", "--data", "token=\(token)&answer=\(answer)")
    #expect(page.status == 200, "\(page.body)")
  }

  /// Waits for a mail to `recipient` and returns the token in its link.
  func mailedToken(
    _ pattern: Regex<(Substring, Substring)>, to recipient: String
  ) throws -> String {
    try wait(for: "a mail to \(recipient)") {
      try firstMatch(of: pattern, inMailTo: recipient) != nil
    }
    let token = try #require(try firstMatch(of: pattern, inMailTo: recipient))
    Evidence.keep(secret: token)
    return token
  }

  /// The code in a mail to `recipient`; nil before the mail arrives.
  func mailedCode(to recipient: String) throws -> String? {
    let code = try firstMatch(of: /code is (\d{6})/, inMailTo: recipient)
    if let code { Evidence.keep(code: code, of: evidenceName) }
    return code
  }

  private func firstMatch(
    of pattern: Regex<(Substring, Substring)>, inMailTo recipient: String
  ) throws -> String? {
    let folder = URL(filePath: state).appending(path: "mail")
    guard FileManager.default.fileExists(atPath: folder.path()) else { return nil }
    let files = try FileManager.default.contentsOfDirectory(
      at: folder, includingPropertiesForKeys: nil)
    for file in files where file.pathExtension == "eml" {
      let mail = try String(contentsOf: file, encoding: .utf8)
      guard mail.contains("To: <\(recipient)>"), let match = mail.firstMatch(of: pattern)
      else { continue }
      return String(match.1)
    }
    return nil
  }

  /// Every key and password in the site's secrets folder.
  func developmentSecrets() throws -> [String] {
    let folder = URL(filePath: state).appending(path: "secrets")
    return try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
      .map { file in
        let text = try String(contentsOf: file, encoding: .utf8).trimmed
        return String(text.split(separator: ":").last ?? "")
      }
  }
}

extension Site.Answer {
  private func member(_ path: [String]) throws -> String {
    var value: Any? = try JSONSerialization.jsonObject(with: Data(body.utf8))
    for name in path { value = (value as? [String: Any])?[name] }
    return try #require(value as? String, "\(path) in \(body)")
  }

  func string(_ name: String) throws -> String { try member([name]) }
  func token(_ name: String) throws -> String { try member(["tokens", name]) }
}

extension String {
  var trimmed: String { trimmingCharacters(in: .whitespacesAndNewlines) }

  /// Whether the text contains `secret`. A code of six digits must stand alone, because any long
  /// number may contain it.
  func holds(_ secret: String) -> Bool {
    guard secret.count == 6 else { return contains(secret) }
    return range(of: "(?<![0-9a-f])\(secret)(?![0-9a-f])", options: .regularExpression) != nil
  }
}
