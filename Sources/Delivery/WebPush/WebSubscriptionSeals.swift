import Base
import Cryptography
import Logging
import Store

/// Reseals the subscriptions of browsers with the companion's newest key, so that older keys can be
/// removed.
struct WebSubscriptionSeals: Sendable {
  let database: Database
  let keys: CompanionKeys
  let log: Logger

  /// Reseals at most 500 subscriptions; the next pass continues.
  func renew() throws {
    let subscriptions = database.records(at: .now(), from: .companion).webSubscriptions
    var unopened = 0
    for (token, sealed) in try subscriptions.sealed(notAs: keys.prefix) {
      let context = WebSubscription.sealingContext(of: token)
      let content: [UInt8]
      do throws(CryptographyError) {
        content = try keys.open(sealed, authenticating: context)
      } catch {
        unopened += 1
        continue
      }
      try subscriptions.replace(
        sealed, of: token, with: keys.seal(content, authenticating: context))
    }
    guard unopened > 0 else { return }
    log.error(
      """
      Subscriptions of browsers cannot be opened: see that SWITCHBOARD_COMPANION_KEYS has all keys, or wait until the \
      pages subscribe again
      """, metadata: ["subscriptions": "\(unopened)"])
  }
}
