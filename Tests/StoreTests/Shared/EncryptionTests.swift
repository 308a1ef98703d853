import Foundation
import MariaDB
import Support
import Testing

@testable import Store

/// MariaDB on another host: the connection requires a valid certificate and encryption.
@Suite struct EncryptionTests {
  /// A server that requires TLS, with a certificate for 127.0.0.1 and another for a foreign name.
  private struct RemoteServer {
    /// Too long to be found in encrypted octets by chance.
    static let databaseName = "database_of_the_test"

    let folder: String
    let server: MariaDBServer
    let port: UInt16

    init(names: String = "IP:127.0.0.1", encrypts: Bool = true) throws {
      folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path()
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      port = freePort()
      let script = """
        cd "$1"
        openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 2 -subj /CN=authority
        openssl req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj /CN=server
        printf 'subjectAltName=%s\\n' "$2" > names
        openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out server.pem
        openssl req -x509 -newkey rsa:2048 -nodes -keyout other.key -out other.pem -days 2 -subj /CN=authority
        """
      let made = runProgram("bash", ["-euc", script, "certificates", folder, names])
      try #require(made.status == 0, "\(made.output)")
      let tls = [
        "--ssl-ca=\(folder)/ca.pem", "--ssl-cert=\(folder)/server.pem",
        "--ssl-key=\(folder)/server.key",
      ]
      server = MariaDBServer(
        options: ["--skip-networking=0", "--bind-address=127.0.0.1", "--port=\(port)"]
          + (encrypts ? tls : ["--skip-ssl"]))
      server.createDatabase(Self.databaseName, schema: schemaOfTests)
      server.run(
        """
        CREATE USER remote@'127.0.0.1' IDENTIFIED BY 'a secret of the test' \(encrypts ? "REQUIRE SSL" : "");
        GRANT switchboard_companion TO remote@'127.0.0.1';
        SET DEFAULT ROLE switchboard_companion FOR remote@'127.0.0.1';
        """)
    }

    func end() {
      server.kill()
      try? FileManager.default.removeItem(atPath: folder)
    }

    func database(
      host: String = "127.0.0.1", port: UInt16? = nil,
      _ encryption: ConnectionSettings.Encryption
    ) -> Database {
      Database(
        ConnectionSettings(
          hosts: [.init(host, port: port ?? self.port)], encryption: encryption,
          database: Self.databaseName,
          user: "remote", password: "a secret of the test"), beginWaiting: { false })
    }

    var verified: ConnectionSettings.Encryption { .verified(authorities: folder + "/ca.pem") }
  }

  private func refusal(_ database: Database) -> String? {
    do {
      _ = try database.inspect()
      return nil
    } catch {
      return "\(error)"
    }
  }

  @Test func aServerWithARightCertificateIsUsedAndTheCipherShown() throws {
    let remote = try RemoteServer()
    defer { remote.end() }
    let found = try remote.database(remote.verified).inspect()
    #expect(found.filter { !$0.isRight }.map(\.text) == [])
    #expect(
      found.contains { $0.text.hasPrefix("the connection to the database is encrypted with TLS_") })
    // The certificate's authority is neither one of the system's nor configured.
    let unknown = try #require(refusal(remote.database(.verified(authorities: nil))))
    #expect(unknown.contains("certificate"), "\(unknown)")
    // Another authority with the same name.
    let other = try #require(
      refusal(remote.database(.verified(authorities: remote.folder + "/other.pem"))))
    #expect(other.contains("certificate"), "\(other)")
    // The server refuses unencrypted connections.
    #expect(refusal(remote.database(.off)) != nil)
  }

  @Test func aCertificateOfAnotherNameIsRefused() throws {
    let remote = try RemoteServer(names: "DNS:db.example.org,IP:192.0.2.1")
    defer { remote.end() }
    let refused = try #require(refusal(remote.database(remote.verified)))
    #expect(refused.contains("certificate"), "\(refused)")
  }

  @Test func aServerWithoutTLSIsUsedOnlyWhereThatIsSaid() throws {
    let remote = try RemoteServer(encrypts: false)
    defer { remote.end() }
    let refused = try #require(refusal(remote.database(remote.verified)))
    #expect(refused.contains("SSL"), "\(refused)")
    let faults = try remote.database(.off).inspect().filter { !$0.isRight }.map(\.text)
    #expect(
      faults == ["the connection to the database is not encrypted: SWITCHBOARD_DB_TLS is false"])
  }

  /// `check` reports each server, even if one server is enough for the site.
  @Test func eachOfSeveralServersIsNamed() throws {
    let remote = try RemoteServer(encrypts: false)
    defer { remote.end() }
    let other = freePort()
    let settings = ConnectionSettings(
      hosts: [.init("127.0.0.1", port: other), .init("127.0.0.1", port: remote.port)],
      encryption: .off, database: RemoteServer.databaseName, user: "remote",
      password: "a secret of the test")
    let found = try Database(settings, beginWaiting: { false }).inspect()
    #expect(
      found.contains { $0.isRight && $0.text == "the server 127.0.0.1:\(remote.port) takes writes" }
    )
    #expect(
      found.contains {
        !$0.isRight
          && $0.text.hasPrefix("the server 127.0.0.1:\(other) cannot be used: MariaDB error 2")
      })
    remote.server.run("SET GLOBAL read_only = 1")
    let refused = try #require(refusal(Database(settings, beginWaiting: { false })))
    #expect(refused.contains("127.0.0.1:\(remote.port) is read-only"), "\(refused)")
  }

  /// A recording of the network contains neither the statements nor the results.
  @Test func nothingGoesInTheClear() throws {
    let remote = try RemoteServer()
    defer { remote.end() }
    func recorded(_ encryption: ConnectionSettings.Encryption) throws -> String {
      let record = "\(remote.folder)/record-\(UUID().uuidString)"
      let port = freePort()
      let recorder = Process()
      recorder.executableURL = URL(filePath: "/usr/bin/socat")
      recorder.arguments = [
        "-r", record, "-R", record + "-back", "TCP-LISTEN:\(port),bind=127.0.0.1",
        "TCP:127.0.0.1:\(remote.port)",
      ]
      recorder.standardOutput = FileHandle.nullDevice
      recorder.standardError = FileHandle.nullDevice
      try recorder.run()
      defer {
        recorder.terminate()
        recorder.waitUntilExit()
      }
      let database = remote.database(port: port, encryption)
      wait(for: "an answer of the database") { (try? database.now()) != nil }
      return try [record, record + "-back"].map {
        String(decoding: try Data(contentsOf: URL(filePath: $0)), as: UTF8.self)
      }.joined()
    }
    let bytes = try recorded(remote.verified)
    #expect(bytes.utf8.count > 1000)
    for word in ["UTC_TIMESTAMP", RemoteServer.databaseName, "secret"] {
      #expect(!bytes.contains(word), "\(word)")
    }
    // A recording of an unencrypted connection contains them.
    remote.server.run("ALTER USER remote@'127.0.0.1' REQUIRE NONE")
    #expect(try recorded(.off).contains("UTC_TIMESTAMP"))
  }
}
