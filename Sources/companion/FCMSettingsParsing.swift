import Base
import Cryptography
import Delivery
import FoundationEssentials
import Program

/// The file that Google gives for a service account.
private struct WrittenAccount: Decodable {
  let type: String
  let project_id: String
  let private_key_id: String
  let private_key: String
  let client_email: String
  let token_uri: String
}

extension FCMSettings {
  private static let rule =
    "must be the JSON file of a service account, as the Firebase console gives it"

  /// - Returns: nil where no service account is named, or after a complaint in `environment`.
  init?(from environment: inout Environment) {
    let override = environment.optional("FCM_ENDPOINT_OVERRIDE")
    if let override, WebURL(override)?.isHTTP != true || override.hasSuffix("/") {
      environment.complain(
        about: "FCM_ENDPOINT_OVERRIDE", "must be an https address without a final slash")
    }
    guard let path = environment.optional("FCM_SERVICE_ACCOUNT_FILE") else { return nil }
    do {
      let account = try JSONDecoder().decode(
        WrittenAccount.self, from: Data(contentsOf: URL(filePath: path)))
      let key = try RSAPrivateKey(pem: account.private_key)
      let words = [account.private_key_id, account.client_email, account.token_uri]
      guard account.type == "service_account", WebURL(account.token_uri)?.isHTTP == true,
        account.project_id.isBundleID, words.allSatisfy({ $0.isVisibleASCII(atMost: 255) })
      else {
        environment.complain(about: "FCM_SERVICE_ACCOUNT_FILE", Self.rule)
        return nil
      }
      self.init(
        project: account.project_id, account: account.client_email,
        keyID: account.private_key_id, key: key, tokenURL: account.token_uri,
        endpoint: override ?? Self.google)
    } catch {
      // What is wrong with it would say something of the key.
      environment.complain(about: "FCM_SERVICE_ACCOUNT_FILE", Self.rule)
      return nil
    }
  }
}
