import Glibc
package import MariaDB

extension Environment {
  /// The settings of the connection to MariaDB.
  package mutating func connectionSettings() -> ConnectionSettings {
    let hosts = databaseHosts()
    let socket = optional("SWITCHBOARD_DB_SOCKET")
    let authorities = optional("SWITCHBOARD_DB_CA")
    let isEncrypted = flag("SWITCHBOARD_DB_TLS", default: true)
    _ = contentOfFile(namedBy: "SWITCHBOARD_DB_CA")  // only to complain about an unreadable file
    return ConnectionSettings(
      socket: hosts == nil ? socket ?? "/run/mysqld/mysqld.sock" : nil,
      hosts: hosts ?? [],
      encryption: isEncrypted ? .verified(authorities: authorities) : .off,
      database: optional("SWITCHBOARD_DB_NAME") ?? "switchboard",
      user: required("SWITCHBOARD_DB_USER", "the MariaDB account of this program"),
      password: optional("SWITCHBOARD_DB_PASSWORD"))
  }

  /// Whether all programs share one database account, which then has the rights of all of them.
  package mutating func isDatabaseAccountShared() -> Bool {
    let name = "SWITCHBOARD_DB_ROLES"
    switch optional(name) {
    case nil, "each": return false
    case "one": return true
    default:
      complain(about: name, "must be each, the default (a role for each program), or one")
      return false
    }
  }

  /// The hosts of `SWITCHBOARD_DB_HOST`: `name`, `name:port` or `[IPv6 address]:port`, separated by commas.
  ///
  /// - Returns: nil if the variable is missing or malformed.
  private mutating func databaseHosts() -> [ConnectionSettings.Host]? {
    let name = "SWITCHBOARD_DB_HOST"
    guard let text = optional(name) else { return nil }
    let words = text.split(separator: ",", omittingEmptySubsequences: false)
    let hosts = words.compactMap { ConnectionSettings.Host(parsing: String($0).trimmed) }
    guard hosts.count == words.count, Set(hosts).count == hosts.count else {
      complain(
        about: name, "must be different hosts, such as db1.example.org:3306, separated by commas")
      return nil
    }
    return hosts
  }
}

extension ConnectionSettings.Host {
  fileprivate init?(parsing text: String) {
    let match = text.wholeMatch(of: /(?:\[([0-9A-Fa-f:.]+)\]|([^\s\[\]:]+))(?::([0-9]{1,5}))?/)
    if let match, let name = match.1 ?? match.2 {
      guard let number = match.3 else {
        self.init(String(name))
        return
      }
      guard let port = UInt16(number), port > 0 else { return nil }
      self.init(String(name), port: port)
    } else {
      var address = in6_addr()
      guard inet_pton(AF_INET6, text, &address) == 1 else { return nil }
      self.init(text)
    }
  }
}
