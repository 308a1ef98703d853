package import MariaDB

extension Environment {
  /// The settings of the connection to MariaDB.
  package mutating func connectionSettings() -> ConnectionSettings {
    let host = optional("SWITCHBOARD_DB_HOST")
    let socket = optional("SWITCHBOARD_DB_SOCKET")
    let authorities = optional("SWITCHBOARD_DB_CA")
    let isEncrypted = flag("SWITCHBOARD_DB_TLS", default: true)
    _ = contentOfFile(namedBy: "SWITCHBOARD_DB_CA")  // for the complaint
    return ConnectionSettings(
      socket: host == nil ? socket ?? "/run/mysqld/mysqld.sock" : nil,
      host: host,
      port: UInt16(integer("SWITCHBOARD_DB_PORT", in: 1...65_535, default: 3306)),
      encryption: isEncrypted ? .verified(authorities: authorities) : .off,
      database: optional("SWITCHBOARD_DB_NAME") ?? "switchboard",
      user: required("SWITCHBOARD_DB_USER", "the MariaDB account of this program"),
      password: optional("SWITCHBOARD_DB_PASSWORD"))
  }
}
