/// The address of MariaDB, our account there, and the wait limits.
package struct ConnectionSettings: Sendable {
  /// Path of the server's unix socket; preferred to `hosts`.
  package var socket: String?
  /// The servers to connect to by TCP. The first that answers and accepts writes is used.
  package var hosts: [Host]
  /// The protection of TCP connections; a unix socket needs none.
  package var encryption: Encryption
  /// The database that statements use.
  package var database: String
  /// MariaDB's user; without a password, a user who logs in by `unix_socket`.
  package var user: String
  /// Never shown when these settings are printed.
  package var password: String?

  /// The wait limit for making a connection. Whole seconds, rounded up.
  package var connectTimeout = Duration.seconds(3)
  /// The wait limit for the answer to a statement; the server itself ends a statement half a second
  /// earlier. Whole seconds, rounded up.
  package var readTimeout = Duration.seconds(5)
  /// The wait limit for a row that another transaction has locked; less if `readTimeout` is
  /// shorter. Whole seconds, rounded up.
  package var lockTimeout = Duration.seconds(3)
  /// The wait limit for the server to read a statement.
  package var writeTimeout = Duration.seconds(5)

  /// Settings with the usual timeouts.
  package init(
    socket: String? = nil, hosts: [Host] = [],
    encryption: Encryption = .verified(authorities: nil), database: String, user: String,
    password: String? = nil
  ) {
    self.socket = socket
    self.hosts = hosts
    self.encryption = encryption
    self.database = database
    self.user = user
    self.password = password
  }
}

extension ConnectionSettings {
  /// A server that is reached by TCP.
  package struct Host: Sendable, Hashable, CustomStringConvertible {
    /// A name or an address.
    package let name: String
    package let port: UInt16

    package init(_ name: String, port: UInt16 = 3306) {
      self.name = name
      self.port = port
    }

    package var description: String { name.contains(":") ? "[\(name)]:\(port)" : "\(name):\(port)" }
  }

  /// The same settings with `limit` as the limit for connecting, reading and writing.
  package func answering(within limit: Duration) -> ConnectionSettings {
    var settings = self
    settings.connectTimeout = limit
    settings.readTimeout = limit
    settings.writeTimeout = limit
    return settings
  }

  package enum Encryption: Sendable, Equatable {
    /// TLS 1.2 or later, with a certificate of the host by one of the authorities in this PEM file,
    /// or by one that the system trusts. Otherwise connecting fails.
    case verified(authorities: String?)
    /// No encryption: an attacker on the network can read everything except the password.
    case off
  }
}

extension ConnectionSettings: CustomStringConvertible, CustomReflectable {
  /// User, place and database; no password.
  package var description: String {
    "\(user)@\(socket ?? hosts.map(\.description).joined(separator: ","))/\(database)"
  }

  /// Shows only ``description`` when these settings are dumped.
  package var customMirror: Mirror {
    Mirror(self, children: ["description": description])
  }
}
