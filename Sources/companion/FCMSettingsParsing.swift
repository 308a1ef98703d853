import Base
import Cryptography
import Delivery
import ProcessSupport
import SharedSettings
import Store

/// Google's JSON file of a service account.
private struct WrittenAccount: Decodable {
  let type: String
  let projectId: String
  let privateKeyId: String
  let privateKey: String
  let clientEmail: String
  let tokenUri: String

  private enum CodingKeys: String, CodingKey {
    case type
    case projectId = "project_id"
    case privateKeyId = "private_key_id"
    case privateKey = "private_key"
    case clientEmail = "client_email"
    case tokenUri = "token_uri"
  }
}

extension FCMSettings {
  private static let rule =
    "must be the JSON file of a service account, as the Firebase console gives it"

  /// - Returns: nil if there is no service account, or after a complaint in `environment`.
  init?(from environment: inout Environment, substitutes: Substitutes) {
    let name = "FCM_SERVICE_ACCOUNT"
    guard let text = environment.optional(name) else { return nil }
    do {
      let account = try decoded(WrittenAccount.self, from: Array(text.utf8))
      let key = try RSAPrivateKey(pem: account.privateKey)
      let words = [account.privateKeyId, account.clientEmail, account.tokenUri]
      guard account.type == "service_account", WebURL(account.tokenUri)?.isHTTP == true,
        account.projectId.isBundleID, words.allSatisfy({ $0.isVisibleASCII(atMost: 255) })
      else {
        environment.complain(about: name, Self.rule)
        return nil
      }
      self.init(
        project: account.projectId, account: account.clientEmail,
        keyID: account.privateKeyId, key: key, tokenURL: account.tokenUri,
        endpoint: substitutes.fcm ?? Self.google)
    } catch {
      // The exact error is hidden, because it would reveal something about the key.
      environment.complain(about: name, Self.rule)
      return nil
    }
  }
}
