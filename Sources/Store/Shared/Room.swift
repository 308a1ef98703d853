import Base

/// What a room declares about its rows, so that others need not know them.
package struct Room: Sendable {
  let name: String
  var retention: [Retention] = []
  /// Run when a device is added. Parameters: device id, now.
  var whenDeviceIsAdded: [StaticString] = []
  /// Run when the sessions of a device end because its person signs out or revokes it. Parameters:
  /// now, device id.
  var whenDeviceSignsOut: [StaticString] = []
  /// Run when a device is revoked. Parameter: device id.
  var whenDeviceIsRevoked: [StaticString] = []
  /// Run when everything that signs in to an account goes: somebody proves the e-mail address of an
  /// account that others may have used, or its owner removes all. Parameter: account id.
  var whenAuthenticatorsEnd: [StaticString] = []
  /// Run when somebody else than the person who signed up proves the e-mail address: reset what was said and set
  /// before. Parameter: account id.
  var whenAccountIsHandedOver: [StaticString] = []
  /// Run too where the first proof of the e-mail address comes from another phone than the account.
  /// Parameter: account id.
  var whenAccountGoesToAnotherPhone: [StaticString] = []
  /// Run when an administrator bans an account: end what is under way. Parameter: account id.
  var whenAccountIsBanned: [StaticString] = []
  /// Delete registrations of a token that its channel calls dead. Parameters: token, and the instant
  /// before which a registration counts.
  var whenTokenDies: [StaticString] = []
  /// Select the deliveries that are not to be sent, because what they say is over. Parameter: JSON array of the ids of
  /// deliveries.
  var whatIsOver: [StaticString] = []
  /// Run when notifications are delivered. Parameter: JSON array of the ids of deliveries.
  var whenDelivered: [StaticString] = []
  /// Run when notifications were given up that nobody has refused. Parameter: JSON array of the ids of deliveries.
  var whenGivenUp: [StaticString] = []
  /// Select what the values for the companion alone begin with, up to the dot, of those that are still of use after a restore.
  var seals: [StaticString] = []
  /// Where the room keeps subscriptions of browsers; nil: nowhere.
  var subscriptions: SealedSubscriptions?
  /// Run after a restore: close what was open and is good only once, because it may have been used since.
  var whenRestored: [StaticString] = []
  /// Run after the database's clock was set back: end waits that are longer now than any that is meant. What is in hand
  /// keeps a whole lease.
  var whenClockIsSetBack: [StaticString] = []
  /// What accounts have here, in the order of the page that shows it to its owner.
  var holdings: [Holding] = []
}

/// Statements on a room's subscriptions of browsers, each sealed for the companion under its push token.
struct SealedSubscriptions: Sendable {
  /// Selects token and sealed subscription. Parameter: JSON array of tokens.
  let find: StaticString
  /// The same of at most 500 that other keys have sealed. Parameter, twice: what values begin with that ours have sealed.
  let findSealedOtherwise: StaticString
  /// Parameters: the new value, token, the value that it replaces.
  let replace: StaticString
}

/// Rows that nobody needs after a time. A rule deletes them slice by slice.
package struct Retention: Sendable {
  package enum Age: Sendable {
    /// The statement asks the database's clock. No parameter.
    case byDatabaseClock
    /// The same, once for each channel. Parameter: channel.
    case perChannel
    /// Parameter: now less the duration.
    case after(Duration)
    /// The time that an administrator sets for the audit log. Parameter as of `after`.
    case afterAuditLifetime
  }

  /// How a rule finds its rows among those of which many may stay: each purge looks at some, and the next goes on there.
  struct Walk: Sendable {
    /// What the place is kept under.
    let name: StaticString
    /// Selects id and time of rows in the order of time and id. Parameters: time, time and id of the row that was
    /// looked at last, that of the age, LIMIT.
    let candidates: StaticString
  }

  let age: Age
  /// `DELETE FROM … LIMIT ?`. Parameters: that of the age, LIMIT. Where the rule walks, its only parameter is a JSON
  /// array of ids, and it deletes those that need not stay.
  let statement: StaticString
  /// nil where an index leads to the rows.
  let walk: Walk?

  init(_ age: Age, _ statement: StaticString, walk: Walk? = nil) {
    self.age = age
    self.statement = statement
    self.walk = walk
  }

  static let day = Duration.seconds(86_400)
  /// After it the purge is late.
  package static let grace = day
}

/// What an account has in a room, as its owner sees, downloads and removes it. It shows no secret and no
/// hash. Each room declares its own.
package struct Holding: Sendable {
  /// A column of the statement after the id, by its name in the download.
  package enum Column: Sendable {
    case text(StaticString)
    case time(StaticString)
    case number(StaticString)
    case flag(StaticString)
  }

  /// The member of the download, and what the page's forms call it.
  package let name: StaticString
  package let columns: [Column]
  /// Selects the id and the columns. Parameters: account id, LIMIT.
  let statement: StaticString
  /// Whether removing one needs a sign-in of the last ten minutes.
  package let removalNeedsProof: Bool
  /// Removes one of an account's; false if the account has no such one. The account is locked.
  let remove: (@Sendable (borrowing Transaction, _ id: String, _ account: String) throws -> Bool)?

  init(
    _ name: StaticString, _ columns: [Column], _ statement: StaticString,
    removalNeedsProof: Bool = false,
    remove: (@Sendable (borrowing Transaction, _ id: String, _ account: String) throws -> Bool)? =
      nil
  ) {
    self.name = name
    self.columns = columns
    self.statement = statement
    self.removalNeedsProof = removalNeedsProof
    self.remove = remove
  }
}
