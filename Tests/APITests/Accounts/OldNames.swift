import Base
import Cryptography
import MariaDB
import Store
import Support

@testable import API

// Shims for files that are being converted; this file goes when nobody uses them.

func walletPushToken(_ letter: Character = "a") -> String { pushTokenText(letter) }
func walletJSON(_ members: [String: Any?]) -> String { jsonText(members) }
func walletBody(
  _ members: [String: any Sendable], but name: String, is value: (any Sendable)?
) -> String { jsonText(members, but: name, is: value) }
func walletTime(_ instant: Timestamp) -> String { iso8601(instant) }
func walletClaims(_ token: String) -> [String: Any] { tokenClaims(token) }
func simultaneously<T: Sendable>(
  _ count: Int, _ work: @escaping @Sendable (Int) -> T
) -> [T] { inParallel(count, work) }

extension WalletPath {
  static let registerDevice = AccountPath.registerDevice
  static let register = AccountPath.register
  static let login = AccountPath.login
  static let verify = AccountPath.verify
  static let refresh = AccountPath.refresh
  static let logout = AccountPath.logout
  static let devices = AccountPath.devices
  static let pushToken = AccountPath.pushToken
}

extension TestApplication {
  static var settings: API.Settings { .ofTests() }

  convenience init(
    _ root: ConnectionSettings, agent: GuardedAgent? = nil, attestation: AttestationPolicy
  ) {
    self.init(root, settings: .ofTests(agent: agent, attestation: attestation))
  }

  convenience init(_ root: ConnectionSettings, agent: GuardedAgent) {
    self.init(root, settings: .ofTests(agent: agent))
  }

  func sibling(publicURL: String) -> Application {
    sibling(settings: .ofTests(publicURL: publicURL))
  }
  func sibling(passkeyOrigins: [String]) -> Application {
    sibling(settings: .ofTests(passkeyOrigins: passkeyOrigins))
  }
}
