import Foundation
import MariaDB
import Support
import Testing

@testable import Store

/// The roles on a server with several databases, or with an account that may not create roles.
@Suite struct RolesTests {
  private let server = MariaDBServer.shared

  /// The output of `nginx/apply-schema` for a new database, applied by `user`.
  private func applySchema(to database: String, as user: String) throws -> String {
    let script = projectSchema.deletingLastPathComponent().appending(path: "nginx/apply-schema")
    let outcome = runProgram(
      script.path(),
      ["--no-defaults", "--socket=\(server.socket)", "--user=\(user)", database])
    try #require(outcome.status == 0, "\(outcome.output)")
    return outcome.output
  }

  private func settings(database: String, user: String) -> ConnectionSettings {
    ConnectionSettings(socket: server.socket, database: database, user: user, password: nil)
  }

  private func refusal(of user: String, in database: String) -> DatabaseError? {
    do {
      _ = try Pool(settings(database: database, user: user)).read { connection in
        try connection.row("SELECT COUNT(*) FROM accounts") { row in row.integer(0) }
      }
      return nil
    } catch {
      return error as? DatabaseError
    }
  }

  @Test func theProgramsOfASiteCannotReadAnotherSiteOfTheServer() throws {
    let sites = ["roles_first", "roles_second"]
    for site in sites {
      server.run("CREATE DATABASE \(site)")
      _ = try applySchema(to: site, as: "root")
      server.run(
        """
        CREATE USER \(site)@localhost; GRANT \(site)_responder TO \(site)@localhost;
        SET DEFAULT ROLE \(site)_responder FOR \(site)@localhost
        """)
    }
    defer { for site in sites { server.run("DROP DATABASE \(site)") } }
    for (site, other) in [(sites[0], sites[1]), (sites[1], sites[0])] {
      #expect(refusal(of: site, in: site) == nil)
      #expect(refusal(of: site, in: other)?.code.rawValue == 1044)
    }
  }

  /// `@roles` sets the beginning of the roles' names.
  @Test func theRolesAreCalledAsTheAdministratorSays() throws {
    try withStore { store throws in
      let roles = store.column(
        "SELECT DISTINCT User FROM mysql.tables_priv WHERE Db = DATABASE() ORDER BY User")
      #expect(
        roles == [
          "switchboard_administrator", "switchboard_companion", "switchboard_relay",
          "switchboard_responder",
        ])
    }
  }

  @Test func anAccountThatOwnsNoMoreThanADatabaseServesAllPrograms() throws {
    server.run(
      "CREATE DATABASE roles_owned; CREATE USER roles_owner@localhost; GRANT ALL ON roles_owned.* TO roles_owner@localhost"
    )
    defer { server.run("DROP DATABASE roles_owned") }
    for _ in 1...2 {
      let output = try applySchema(to: "roles_owned", as: "roles_owner")
      #expect(output.contains("Set SWITCHBOARD_DB_ROLES=one"))
    }
    let database = Database(settings(database: "roles_owned", user: "roles_owner"))
    #expect(try database.inspect(isAccountShared: true).filter { !$0.isRight }.map(\.text) == [])
    #expect(try database.inspect().filter { !$0.isRight }.count == 1)
  }
}
