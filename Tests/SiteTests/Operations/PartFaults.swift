import Cryptography
import Foundation
import Support
import Testing

extension Fault {
  static let ofParts: [Fault] = [
    Fault(
      name: "The responder seals for keys that the companion does not have", problem: .keys,
      words: "cannot be opened",
      mended: "Give the companion those keys too: then what waits goes out.",
      inject: { try $0.useOtherPublicKeys() }, mend: { try $0.addPrivateKeys() }),
    Fault(
      name: "The file of the companion's keys is lost", problem: .companion,
      words: "SWITCHBOARD_COMPANION_KEYS", mended: "Bring it back from the backup.",
      inject: {
        try $0.move("companion-keys", from: "\($0.site.state)/secrets", to: $0.folder)
        try $0.restartAsItIs("companion")
      },
      mend: { try $0.move("companion-keys", from: $0.folder, to: "\($0.site.state)/secrets") }),
    Fault(
      name: "The companion is killed and does not start", problem: .companion,
      words: "No companion has ended a pass", mended: "Start its timer.",
      inject: { try $0.end("companion") }, mend: { try $0.revive("companion") }),
    Fault(
      name: "The companion has a wrong password for the database", problem: .companion,
      words: "refuses the account or the password", mended: "Give it the right one.",
      inject: {
        try $0.replaceSecret("database-companion", with: "wrong\n")
        try $0.restartAsItIs("companion")
      },
      mend: {
        try $0.replaceSecret("database-companion", with: nil)
        try $0.restartAsItIs("companion")
      }),
    Fault(
      name: "The site's certificate has expired", problem: .certificate,
      words: "certificate has expired", requests: [.byTLS],
      mended: "Renew the certificate, and reload nginx.",
      inject: { try $0.showCertificate(from: clock("-100d")) },
      mend: { try $0.showCertificate(from: "env") }),
  ]
}

extension FaultSite {
  fileprivate func useOtherPublicKeys() throws {
    let bytes = (1...32).map { _ in UInt8.random(in: 0...255) }
    try writeSecret("other:\(base64URLEncoded(bytes))\n", to: otherKeys)
    let made = site.companion("keys", "public", otherKeys)
    try #require(made.status == 0, "\(made.output)")
    try replaceSecret("companion-public-keys", with: made.output)
    try restartAsItIs("responder")
  }

  fileprivate func addPrivateKeys() throws {
    let keys = try ["\(site.state)/secrets/companion-keys", otherKeys].map {
      try String(contentsOfFile: $0, encoding: .utf8)
    }
    try replaceSecret("companion-keys", with: keys.joined())
    try restartAsItIs("companion")
  }

  private var otherKeys: String { "\(folder)/other-keys" }

  fileprivate func move(_ file: String, from folder: String, to other: String) throws {
    try FileManager.default.moveItem(atPath: "\(folder)/\(file)", toPath: "\(other)/\(file)")
  }

  /// Makes nginx also serve TLS, with a certificate that is valid for 90 days.
  ///
  /// - Parameter words: precede the command that makes the certificate.
  func showCertificate(from words: String) throws {
    let made = Site.run([
      "sh", "-c",
      """
      \(words) openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 90 -subj /CN=localhost \\
        -keyout \(client.certificate).key -out \(client.certificate)
      """,
    ])
    try #require(made.status == 0, "\(made.output)")
    let file = "\(site.state)/nginx.conf"
    let text = try String(contentsOfFile: file, encoding: .utf8)
    if !text.contains(client.certificate) {
      let server = """
          server {
            listen 127.0.0.1:\(client.securePort) ssl;
            ssl_certificate \(client.certificate);
            ssl_certificate_key \(client.certificate).key;
            include switchboard/server.conf;
          }
        """
      try "\(text.trimmed.dropLast())\(server)\n}\n".write(
        toFile: file, atomically: true, encoding: .utf8)
    }
    kill(try #require(site.pid(of: "web")), SIGHUP)
  }
}

extension FaultSite.Request {
  /// Sends a request with TLS, as a client that checks the expiry of the certificate.
  fileprivate static let byTLS = Self(name: "by TLS") { client in
    let outcome = Site.run([
      "curl", "--silent", "--noproxy", "*", "--cacert", client.certificate, "--output",
      "/dev/null", "--write-out", "%{http_code}", "https://localhost:\(client.securePort)/health",
    ])
    return outcome.status == 60 ? "refuse the certificate" : outcome.output
  }
}
