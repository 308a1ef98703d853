import Testing

@testable import Delivery

@Suite struct ChildEnvironmentTests {
  @Test(arguments: [
    "APNS_PRIVATE_KEY", "APNS_PRIVATE_KEY_FILE", "CREDENTIALS_DIRECTORY", "MASTER_API_KEY",
    "SWITCHBOARD_COMPANION_KEYS", "SWITCHBOARD_COMPANION_KEYS_FILE", "SWITCHBOARD_CREDENTIAL_KEYS",
    "SWITCHBOARD_DB_PASSWORD", "SWITCHBOARD_DB_PASSWORD_FILE", "APNS_APPS", "FCM_SERVICE_ACCOUNT",
    "WEBPUSH_VAPID_KEY", "WEBPUSH_VAPID_KEY_FILE",
  ])
  func theMailCommandSeesNoSecret(name: String) {
    #expect(isSecret("\(name)=value"))
  }

  @Test(arguments: ["https_proxy", "ALL_PROXY"])
  func theMailCommandSeesNoPasswordOfAProxy(name: String) {
    #expect(isSecret("\(name)=http://user:password@proxy.example:3128"))
    #expect(!isSecret("\(name)=http://proxy.example:3128"))
  }

  @Test(arguments: ["PATH=/bin", "SWITCHBOARD_MAIL_FROM=a@b.example", "A=X_PASSWORD=b", "HOME="])
  func theMailCommandSeesTheRest(variable: String) {
    #expect(!isSecret(variable))
  }

  @Test func whatIsLeftIsOurEnvironment() {
    #expect(childEnvironment().contains { $0.hasPrefix("PATH=") })
    #expect(!childEnvironment().contains(where: isSecret))
  }
}
