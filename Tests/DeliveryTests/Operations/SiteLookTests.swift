import Administration
import Base
import Cryptography
import Foundation
import Store
import Support
import Testing

@testable import Delivery

/// A companion's notes on the site: whether it answers, and its certificate.
@Suite(.serialized) struct SiteLookTests {
  /// One line for each problem except that of the companion itself.
  private func failing(_ delivery: TestDelivery) -> String {
    delivery.sql(
      "SELECT CONCAT_WS(': ', name, reason) FROM problems WHERE reason <> '' ORDER BY 1")
  }

  private static let unanswered =
    "The site does not answer at its address: Couldn't connect to server."
  private static let dead = "The web server gets no answer from the responder: it answers 502."

  /// Calls `body` with the URL of an nginx that answers with `location`, over TLS if the folder has
  /// a certificate.
  private func withNginx(
    _ folder: String, port: UInt16 = freePort(), location: String = "fastcgi_pass unix:nobody;",
    _ body: (_ url: String) throws -> Void
  ) throws {
    let isSecure = FileManager.default.fileExists(atPath: "\(folder)/cert.pem")
    let tls = isSecure ? "ssl_certificate cert.pem; ssl_certificate_key key.pem;" : ""
    let configuration = """
      \(geteuid() == 0 ? "user root root;" : "")
      daemon off; pid pid; error_log errors; events {}
      http { server { listen 127.0.0.1:\(port)\(isSecure ? " ssl" : ""); \(tls) access_log off;
        location / { \(location) } } }
      """
    let file = "\(folder)/nginx.conf"
    try configuration.write(toFile: file, atomically: true, encoding: .utf8)
    let nginx = Process()
    nginx.executableURL = URL(filePath: "/usr/bin/env")
    nginx.arguments = ["nginx", "-p", folder, "-e", "errors", "-c", file]
    try nginx.run()
    defer {
      nginx.terminate()
      nginx.waitUntilExit()
    }
    let url = isSecure ? "https://localhost:\(port)" : "http://127.0.0.1:\(port)"
    wait(for: "an answer of nginx") {
      SiteAnswer(at: url, triesFor: .zero, clock: .still).isAnswered
    }
    try body(url)
  }

  /// Makes a self-signed certificate.
  ///
  /// - Returns: its fingerprint, as OpenSSL prints it.
  @discardableResult
  private func makeCertificate(in folder: String) throws -> String {
    let made = runProgram(
      "openssl",
      [
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
        "90", "-subj", "/CN=localhost", "-keyout", "\(folder)/key.pem", "-out",
        "\(folder)/cert.pem",
      ])
    try #require(made.status == 0, "\(made.output)")
    let printed = runProgram(
      "openssl", ["x509", "-noout", "-fingerprint", "-sha256", "-in", "\(folder)/cert.pem"])
    return try #require(printed.output.trimmed.split(separator: "=").last.map(String.init))
  }

  @Test func aWebServerWithoutAResponder() throws {
    try withDelivery { delivery throws in
      try withNginx(delivery.folder) { url in
        try delivery.companion(mailer: nil, publicURL: url).pass()
        #expect(failing(delivery) == "site: \(Self.dead)")
      }
    }
  }

  /// While it is gone, each pass checks it, so that its return is reported as soon as possible.
  @Test func aWebServerThatIsGone() throws {
    try withDelivery { delivery throws in
      let port = freePort()
      let url = "http://127.0.0.1:\(port)"
      let companion = delivery.companion(mailer: .directory(delivery.folder), publicURL: url)
      try companion.pass()
      #expect(failing(delivery) == "site: \(Self.unanswered)")
      #expect(companion.check().contains { $0.description == "PROBLEM  \(Self.unanswered)" })
      let status = try companion.statusReport()
      #expect(!status.isWell)
      #expect(status.text.hasPrefix("The site does not answer requests.\n"))
      #expect(try companion.metrics().contains("switchboard_problem{name=\"site\"} 1\n"))
      try withNginx(delivery.folder, port: port, location: "return 200;") { url in
        try companion.pass()
        #expect(failing(delivery) == "")
        let lines = companion.check().map(\.description)
        #expect(lines.contains("ok       the site answers at \(url)"))
      }
    }
  }

  @Test func aSiteWhoseCertificateSignsItselfIsAskedAllTheSame() throws {
    try withDelivery { delivery throws in
      let fingerprint = try makeCertificate(in: delivery.folder)
      try withNginx(delivery.folder) { url in
        let companion = delivery.companion(mailer: nil, publicURL: url)
        try companion.pass()
        #expect(failing(delivery) == "site: \(Self.dead)")
        let lines = companion.check().map(\.description)
        #expect(lines.contains("PROBLEM  \(Self.dead)"))
        #expect(
          lines.contains {
            $0.hasPrefix("unset    this host does not trust the site's certificate")
              && $0.hasSuffix(fingerprint)
          })
      }
    }
  }

  @Test func theFingerprintOfTheSettingsTellsItFromAStrangers() throws {
    try withDelivery { delivery throws in
      let expected = try makeCertificate(in: delivery.folder)
      func settings(_ url: String, _ fingerprint: String) -> [String: String] {
        [
          "SWITCHBOARD_PUBLIC_URL": url, "SWITCHBOARD_ADMINISTRATOR": "a@example.org",
          "SWITCHBOARD_CERTIFICATE_FINGERPRINT": fingerprint,
        ]
      }
      try withNginx(delivery.folder, location: "return 200;") { url in
        for spelling in [expected, expected.lowercased().replacing(":", with: "")] {
          let check = try RunningCompanion(delivery, "check", changing: settings(url, spelling))
          try check.end(expecting: 0)
          #expect(check.output.contains("ok       the site's certificate is the one that is"))
        }
      }
      try makeCertificate(in: delivery.folder)
      try withNginx(delivery.folder, location: "return 200;") { url in
        let check = try RunningCompanion(delivery, "check", changing: settings(url, expected))
        try check.end(expecting: 1)
        #expect(check.output.contains("PROBLEM  The site shows a certificate that this host does"))
        try RunningCompanion(delivery, "run", changing: settings(url, expected)).end(expecting: 0)
        #expect(failing(delivery).hasPrefix("certificate: The site shows a certificate that this"))
      }
      let wrong = try RunningCompanion(
        delivery, "check", changing: settings("http://a.example", "x"))
      try wrong.end(expecting: 78)
      #expect(wrong.log.contains("SWITCHBOARD_CERTIFICATE_FINGERPRINT must be what openssl"))
    }
  }

  @Test(arguments: [
    (14 * 86_400, nil), (14 * 86_400 - 1, "The site's certificate expires in 13 days."),
    (1, "The site's certificate expires in 0 days."), (0, "The site's certificate has expired."),
    (-1, "The site's certificate has expired."),
  ])
  func aCertificateIsRenewedTwoWeeksBeforeItsEnd(seconds: Int, problem: String?) {
    let now = Timestamp.now()
    #expect(
      SiteCertificate(expiresAt: now + .seconds(seconds), fingerprint: []).problem(at: now)
        == problem)
  }

  /// Reads the fake's certificate, and compares it with OpenSSL's output.
  @Test func theCertificateOfAnAddressIsReadWithoutTrustingIt() throws {
    try withAPNs { fake throws in
      let found = try #require(SiteCertificate(at: "\(fake.endpoint)/", clock: .still))
      let printed = runProgram(
        "openssl",
        [
          "x509", "-noout", "-enddate", "-dateopt", "iso_8601", "-in",
          "\(fake.folder)/certificate.pem",
        ])
      let end = printed.output.replacing("notAfter=", with: "").replacing(" ", with: "T")
      #expect(
        end.trimmingCharacters(in: .newlines).replacing("TZ", with: "Z").contains(
          found.expiresAt.rfc3339.dropLast()))
    }
    #expect(SiteCertificate(at: "https://127.0.0.1:9/", clock: .still) == nil)
  }

}
