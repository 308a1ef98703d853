package import MariaDB

/// The settings of `root`'s database for an account with only the rights of one program:
/// `responder`, `companion`, `relay` or `administrator`. A test without a database may ask before the first schema has made
/// the role.
package func accountSettings(
  of program: String, in root: ConnectionSettings, on server: MariaDBServer = .shared
) -> ConnectionSettings {
  server.run(
    """
    CREATE ROLE IF NOT EXISTS switchboard_\(program);
    CREATE USER IF NOT EXISTS \(program)@localhost;
    GRANT switchboard_\(program) TO \(program)@localhost;
    SET DEFAULT ROLE switchboard_\(program) FOR \(program)@localhost;
    """)
  return ConnectionSettings(
    socket: root.socket, database: root.database, user: program, password: nil)
}

extension ConnectionSettings {
  /// These settings with waits that are longer than a test.
  package var patient: ConnectionSettings {
    var settings = answering(within: .seconds(86_400))
    settings.lockTimeout = .seconds(86_000)
    return settings
  }
}
