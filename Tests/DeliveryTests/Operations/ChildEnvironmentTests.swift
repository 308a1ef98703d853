import Support
import Testing

@testable import Delivery

@Suite struct ChildEnvironmentTests {
  @Test(arguments: variablesWithSecrets)
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
