import ArgumentParser
import Cryptography
import Foundation

/// Apple's push service over HTTP/2 and TLS.
struct APNs: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "apns",
    abstract: "Apple's push service.",
    discussion: """
      The folder gets: certificate.pem and key.pem (unless they are there), port (the port number, when
      connections are taken), received.jsonl (a line for each notification) and, at the end,
      visible.json (what each device shows). It ends on SIGTERM.

      A fault is a line: \(Faults.grammar)
      """)

  @Option(help: "Where everything lies that it reads and writes.")
  var folder: String
  @Option(help: portHelp)
  var port: UInt16 = 0
  @Option(help: "The name in the certificate, or an address.")
  var host = "localhost"
  @Option(help: "The bundle identifiers of the apps, separated by commas.")
  var topic = "com.example.switchboard"
  @Option(help: "kid of provider tokens.")
  var keyID = "KEY1234567"
  @Option(help: "iss of provider tokens.")
  var teamID = "TEAM123456"
  @Option(help: "PEM file of the public key of provider tokens. Without it none is looked at.")
  var publicKey: String?
  @Option(help: "A file with the Unix seconds that it is; otherwise the system's clock counts.")
  var clock: String?
  @Option(name: .customLong("fault"), help: "A fault; may be given many times.")
  var faultLines: [String] = []
  @Option(name: .customLong("faults"), help: "A file with a fault on each line.")
  var faultFile: String?
  @Flag(help: "Record nothing: for measurements.")
  var forgetful = false
  @Flag(help: "End when standard input does.")
  var untilInputEnds = false

  func run() throws {
    var lines = faultLines
    if let faultFile { lines += try text(of: faultFile).split(separator: "\n").map(String.init) }
    let faults = try Faults(lines)
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try makeCertificate(for: host, in: folder)
    let rules = Rules(
      topics: topic.split(separator: ",").map(String.init),
      tokens: try publicKey.map {
        ProviderTokens(
          keyID: keyID, teamID: teamID, key: try P256PublicKey(pem: text(of: $0)), clock: clock)
      },
      faults: faults)
    let record = forgetful ? nil : try Record(folder: folder)
    let tls = try ServerTLS(folder: folder, offersHTTP2: faults.offersHTTP2)
    let server = try listening(on: port, as: folder) { port in
      let server = try Server(port: port, rules: rules, record: record, tls: tls)
      return (server, server.port)
    }
    server.run(untilInputEnds: untilInputEnds)
    try record?.end()
  }
}

/// Makes a self-signed certificate with the command `openssl`, unless the folder has one.
private func makeCertificate(for host: String, in folder: String) throws {
  guard !FileManager.default.fileExists(atPath: "\(folder)/certificate.pem") else { return }
  let isAddress = host.allSatisfy { $0.isHexDigit || $0 == "." || $0 == ":" }
  let process = Process()
  process.executableURL = URL(filePath: "/usr/bin/env")
  process.arguments = [
    "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
    "-subj", "/CN=\(host)", "-addext", "subjectAltName=\(isAddress ? "IP" : "DNS"):\(host)",
    "-days", "30", "-keyout", "\(folder)/key.pem", "-out", "\(folder)/certificate.pem",
  ]
  process.standardInput = FileHandle.nullDevice
  process.standardError = FileHandle.nullDevice
  try process.run()
  process.waitUntilExit()
  guard process.terminationStatus == 0 else {
    throw ValidationError("openssl makes no certificate")
  }
}
