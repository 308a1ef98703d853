package import MariaDB

extension Room {
  /// Every room, in the order of schema.sql. A new room is a line here.
  package static let all: [Room] = [
    .accounts, .preferences, .attestation, .push, .wallet, .pairing, .turns, .apns, .operations,
  ]
}

extension Database {
  /// - Parameters:
  ///   - mailKeys: nil if no mail is posted.
  ///   - beginWaiting: called before a request waits for the database server to come back; false
  ///     makes the request fail at once.
  package convenience init(
    _ settings: ConnectionSettings, mailKeys: MailKeys? = nil,
    beginWaiting: @escaping @Sendable () -> Bool = { true }
  ) {
    self.init(settings, rooms: Room.all, mailKeys: mailKeys, beginWaiting: beginWaiting)
  }
}
