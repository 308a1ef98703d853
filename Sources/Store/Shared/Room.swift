import Base

/// The declarations of a room about its rows, so that other rooms need not know them.
package struct Room: Sendable {
  var retention: [RetentionRule] = []
  /// Run when a device is added. Parameters: device id, now.
  var whenDeviceIsAdded: [StaticString] = []
  /// Run when the sessions of a device end because its owner signs out or revokes it. Parameters:
  /// now, device id.
  var whenDeviceSignsOut: [StaticString] = []
  /// Run when a device is revoked. Parameter: device id.
  var whenDeviceIsRevoked: [StaticString] = []
  /// Run when all means to sign in to an account are removed: a handover of the account, or its
  /// owner removes them. Parameter: account id.
  var whenAuthenticatorsEnd: [StaticString] = []
  /// Run at a handover of an account, when another person than the one who signed up proves the
  /// e-mail address: reset earlier names and settings. Parameter: account id.
  var whenAccountIsHandedOver: [StaticString] = []
  /// Run too if the first proof of the e-mail address comes from another phone than the account.
  /// Parameter: account id.
  var whenAccountGoesToAnotherPhone: [StaticString] = []
  /// Run when an administrator bans an account: end unfinished operations. Parameter: account id.
  var whenAccountIsBanned: [StaticString] = []
  /// Delete registrations of a token that its channel reports as dead. Parameters: token, and the
  /// instant before which a registration counts.
  var whenTokenDies: [StaticString] = []
  /// Which deliveries must not be sent.
  var whatIsOver: [OverRule] = []
  /// Select tokens and their owners, as text. Parameter: JSON array of tokens.
  var ownersOfTokens: [StaticString] = []
  /// Run when notifications are delivered. Parameter: JSON array of the ids of deliveries.
  var whenDelivered: [StaticString] = []
  /// Run when notifications were given up without a rejection. Parameter: JSON array of the ids of
  /// deliveries.
  var whenGivenUp: [StaticString] = []
  /// Select the prefixes, up to the dot, of the values for the companion alone that are still in
  /// use after a restore.
  var seals: [StaticString] = []
  /// The statements on the room's subscriptions of browsers; nil if it has none.
  var subscriptions: SealedSubscriptions?
  /// Run after a restore: close everything that may be used only once, because it may have been
  /// used since the backup.
  var whenRestored: [StaticString] = []
  /// Run after the database's clock was set back: shorten waits that are now longer than intended.
  /// Claimed work keeps a whole lease.
  var whenClockIsSetBack: [StaticString] = []
  /// The account's items in this room, in the order of the page that shows them to the owner.
  var accountData: [AccountData] = []
}

/// A rule on deliveries that must not be sent, although they are due.
struct OverRule: Sendable {
  let kinds: Set<String>
  /// Selects ids, and for each whether its device may not get the notification any more: then the
  /// delivery is closed. Otherwise its event has ended, and the room decides what becomes of it.
  /// Parameter: JSON array of the ids of deliveries.
  let statement: StaticString

  init(_ kinds: [NewNotification.Kind], _ statement: StaticString) {
    self.kinds = Set(kinds.map(\.name))
    self.statement = statement
  }
}

/// Statements on a room's subscriptions of browsers, each sealed for the companion under its push token.
struct SealedSubscriptions: Sendable {
  /// Selects token and sealed subscription. Parameter: JSON array of tokens.
  let find: StaticString
  /// The same for at most 500 that other keys have sealed. Parameter, twice: the prefix of values
  /// that our key has sealed.
  let findSealedOtherwise: StaticString
  /// Parameters: the new value, token, the value that it replaces.
  let replace: StaticString
}

/// Rows that are deleted after a time. A rule deletes them slice by slice.
package struct RetentionRule: Sendable {
  package enum Age: Sendable {
    /// The statement uses the database's clock. No parameter.
    case byDatabaseClock
    /// The same, once for each channel. Parameter: channel.
    case perChannel
    /// Parameter: now less the duration.
    case after(Duration)
    /// The time that an administrator sets for the audit log. Parameter like that of `after`.
    case afterAuditLifetime
  }

  /// The search of a rule for its rows among many that may stay: each purge checks some candidates,
  /// and the next purge continues there.
  struct Walk: Sendable {
    /// The name under which the position is stored.
    let name: StaticString
    /// Selects id and time of rows in the order of time and id. Parameters: time, time and id of
    /// the row that was checked last, that of the age, LIMIT.
    let candidates: StaticString
  }

  let age: Age
  /// `DELETE FROM … LIMIT ?`. Parameters: that of the age, LIMIT. With a walk, the only parameter
  /// is a JSON array of ids, and the statement deletes those that need not stay.
  let statement: StaticString
  /// nil if an index leads to the rows.
  let walk: Walk?

  init(_ age: Age, _ statement: StaticString, walk: Walk? = nil) {
    self.age = age
    self.statement = statement
    self.walk = walk
  }

  /// The additional time after which the purge is late.
  package static let grace = Duration.day
}

extension Duration {
  static let day = Duration.seconds(86_400)
}

/// The items that an account has in a room, as its owner sees, downloads and removes them. They
/// contain no secret and no hash. Each room declares its own.
package struct AccountData: Sendable {
  /// A column of the statement after the id, by its name in the download.
  package enum Column: Sendable {
    case text(StaticString)
    case time(StaticString)
    case number(StaticString)
    case flag(StaticString)
  }

  /// The name of the member in the download, and of the kind in the page's forms.
  package let name: StaticString
  package let columns: [Column]
  /// Selects the id and the columns. Parameters: now, if it selects only what has not expired; account id, LIMIT.
  let statement: StaticString
  /// Whether the statement selects only what has not expired.
  let selectsUnexpired: Bool
  /// Whether removing an item needs a sign-in of the last ten minutes.
  package let removalNeedsProof: Bool
  /// Removes an item of an account; false if the account has no such item. The account is locked.
  let remove: (@Sendable (borrowing Transaction, _ id: String, _ account: String) throws -> Bool)?

  init(
    _ name: StaticString, _ columns: [Column], _ statement: StaticString,
    selectsUnexpired: Bool = false, removalNeedsProof: Bool = false,
    remove: (@Sendable (borrowing Transaction, _ id: String, _ account: String) throws -> Bool)? =
      nil
  ) {
    self.name = name
    self.columns = columns
    self.statement = statement
    self.selectsUnexpired = selectsUnexpired
    self.removalNeedsProof = removalNeedsProof
    self.remove = remove
  }
}
