/// Where MariaDB is, who we are to it, and how long we wait for it.
package struct ConnectionSettings: Sendable {
  /// Path of the server's unix socket; preferred to `hosts`.
  package var socket: String?
  /// The servers to connect to by TCP. Of several, the first that answers and takes writes is used.
  package var hosts: [Host]
  /// How a connection by TCP is protected; a unix socket needs nothing.
  package var encryption: Encryption
  /// The database that statements mean.
  package var database: String
  /// MariaDB's user; without a password, one who logs in by `unix_socket`.
  package var user: String
  /// Never printed, whatever prints these settings.
  package var password: String?

  /// The longest a connection may take to be made. Whole seconds, rounded up.
  package var connectTimeout = Duration.seconds(3)
  /// The longest the server may keep silent after a statement was sent; the server itself ends a
  /// statement half a second earlier. Whole seconds, rounded up.
  package var readTimeout = Duration.seconds(5)
  /// The longest a statement waits for a row that another transaction has locked; less where `readTimeout` is
  /// shorter. Whole seconds, rounded up.
  package var lockTimeout = Duration.seconds(3)
  /// The longest the server may leave a statement unread.
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

  /// The same, where a server that does not answer within `limit` is given up.
  package func answering(within limit: Duration) -> ConnectionSettings {
    var settings = self
    settings.connectTimeout = limit
    settings.readTimeout = limit
    settings.writeTimeout = limit
    return settings
  }

  package enum Encryption: Sendable, Equatable {
    /// TLS 1.2 or later, with a certificate of the host by one of the authorities in this PEM file, or by
    /// one that the system trusts. Without it there is no connection.
    case verified(authorities: String?)
    /// None: whoever is on the way reads everything, but the password.
    case off
  }
}

extension ConnectionSettings: CustomStringConvertible, CustomReflectable {
  /// User, place and database; no password.
  package var description: String {
    "\(user)@\(socket ?? hosts.map(\.description).joined(separator: ","))/\(database)"
  }

  /// Shows what ``description`` shows, whoever dumps these settings.
  package var customMirror: Mirror {
    Mirror(self, children: ["description": description])
  }
}
