import Base
import Cryptography

/// The actor's things in the owner's account, at any point of a walk.
struct Possessions {
  let actor: Actor
  let site: WalkSite
  let known: KnownValues

  /// - Parameter hasEnded: the owner has signed out everywhere, so nothing may be left.
  func violations(hasEnded: Bool) -> [Violation] {
    let owner = site.target
    guard site.watch.rows["accounts"]?[owner.accountID] != nil else { return [] }
    if actor.hasProof && !hasEnded { return [] }
    var found: [String] = []
    if site.watch.rows["accounts"]?[owner.accountID]?["email"] != owner.email {
      found.append("address")
    }
    for device in rows("devices") {
      for kind in ["credential", "old_credential"] {
        let isOwn = device["\(kind)_hash"].map(known.credentialHashes.contains) ?? false
        if isOwn, device["revoked_at"] == nil,
          hasEnded || isOver(device["\(kind)_trusted_at"], at: site.now)
        {
          found.append(kind)
        }
      }
      if !actor.isBearer, device["name"] == ValueNames.thiefName { found.append("device's name") }
    }
    for key in rows("biometric_keys") where key["public_key"] == PhoneKey.two.publicKey {
      // A key that was set up without a proof never becomes a proof.
      if hasEnded || key["trusted_at"]! <= key["enrolled_at"]! { found.append("biometric key") }
    }
    let passkeys = site.world.thiefPasskeys
    let ids = [passkeys.first, passkeys.new].map { hexEncoded($0.credentialID).uppercased() }
    if rows("passkeys").contains(where: { ids.contains($0["credential_id"] ?? "") }) {
      found.append("passkey")
    }
    if hasEnded || !actor.isBearer {
      for token in rows("push_tokens") where token["token"] == ValueNames.thiefPushToken {
        found.append("push token")
      }
    }
    found += sessions(hasEnded: hasEnded)
    return found.map {
      Violation(
        rule: "\(hasEnded ? "left after the end" : "possession"): \($0)", detail: "of \(actor)")
    }
  }

  private func sessions(hasEnded: Bool) -> [String] {
    let own = known.sessions
    return rows("sessions").compactMap { session in
      guard let id = session["id"], own.contains(id), session["ended_at"] == nil,
        !isOver(session["expires_at"], at: site.now)
      else { return nil }
      if hasEnded { return "session" }
      // The owner's own sessions began with a proof hours ago.
      let isFresh =
        session["proved_at"].map { $0 > databaseText(site.now - .seconds(600)) } ?? false
      return isFresh ? "proven session" : nil
    }
  }

  private func rows(_ table: String) -> [WatchedRow] {
    site.watch.rows(of: table).filter {
      site.watch.owner(of: $0, in: table) == .account(site.target.accountID)
    }
  }
}
