import Base

/// An attacker of the owner's account, by possessions. Every actor also has an ordinary own
/// account.
enum Actor: String, CaseIterable, Sendable {
  /// An access token of a session that began two hours ago.
  case oldBearer
  /// The same token of an owner without passkeys and keys, like most people.
  case plainBearer
  /// An access token of a session that a code has just begun. It has the rights of a proof.
  case freshBearer
  case emailAddress
  /// The owner's network, and the id of the owner's phone.
  case neighbor
  /// A neighbor with an old access token.
  case neighborWithBearer
  case deviceID
  case merchantKey
  case pairedPhone
  /// The credential and a token of a revoked phone.
  case revokedDevice
  /// Only an own account, and the ids of the owner's things.
  case ownAccount
  /// The id of a phone that is registered and not signed in.
  case waitingDeviceID
  /// The same, in the network of that phone.
  case neighborOfWaiting

  var address: String {
    [.neighbor, .neighborWithBearer, .neighborOfWaiting].contains(self)
      ? WalkWorld.ownerAddress : WalkWorld.thiefAddress
  }

  /// Whether the actor has an access token of the owner.
  var isBearer: Bool {
    [.oldBearer, .plainBearer, .freshBearer, .neighborWithBearer].contains(self)
  }

  /// Whether the actor knows the phone that waits for its sign-up.
  var knowsWaiting: Bool { self == .waitingDeviceID || self == .neighborOfWaiting }

  /// Whether the session began with a proof that is still valid.
  var hasProof: Bool { self == .freshBearer }

  /// The owner of the attacked account.
  func target(in world: WalkWorld) -> WalkWorld.Person {
    self == .plainBearer ? world.plainOwner : world.owner
  }

  /// The actor's values at the beginning, by kind. The special values come last, because newer
  /// values are used more often.
  func values(in world: WalkWorld) -> [(kind: String, text: String)] {
    let thief = world.thief
    var all: [(kind: String, text: String)] = [
      ("accessToken", thief.accessToken), ("refreshToken", thief.refreshToken),
      ("deviceCredential", thief.credential), ("deviceId", thief.phone), ("email", thief.email),
      ("api_key", world.thiefAPIKey), ("user_id", "\(WalkWorld.thiefPlayer)"), ("bsimId", "bank"),
    ]
    let owner = target(in: world)
    let phone = ("deviceId", owner.phone)
    switch self {
    case .oldBearer, .plainBearer: all += [("accessToken", owner.accessToken), phone]
    case .freshBearer: all += [("accessToken", world.freshToken), ("deviceId", "tablet of ann")]
    case .emailAddress: all += [("email", owner.email)]
    case .neighbor: all += [phone]
    case .neighborWithBearer: all += [("accessToken", owner.accessToken), phone]
    case .deviceID: all += [phone, ("email", owner.email)]
    case .merchantKey: all += [("merchant key", world.merchantKey), ("email", owner.email)]
    case .pairedPhone:
      all += [("access_token", world.paired[0].access), ("refresh_token", world.paired[0].refresh)]
    case .revokedDevice:
      all += [
        ("accessToken", world.revokedToken), ("deviceCredential", world.revokedCredential),
        ("deviceId", "old phone of ann"), ("email", owner.email),
      ]
    case .waitingDeviceID, .neighborOfWaiting: all += [("deviceId", world.waiting.phone)]
    case .ownAccount:
      all += world.ownerIDs.map { ("id", $0) }
      all += [("email", owner.email), phone, ("user_id", "\(WalkWorld.ownerPlayer)")]
    }
    return all
  }
}
