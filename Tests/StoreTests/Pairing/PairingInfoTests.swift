import Base
import Support
import Testing

@testable import Store

@Suite struct PairingInfoTests {
  private let agent = GuardedAgent(publicURL: "http://127.0.0.1:8766", repo: "cdev")

  private func content(_ token: SignedPairingToken?) -> String {
    let info = PairingInfo(
      agent: agent, session: "6f57d617-8d94-4810-b135-cddff5bc1007", token: token, code: nil)
    return String(decoding: info.qrContent, as: UTF8.self)
  }

  @Test func theQRCodeHoldsTheBytesOfTheContract() throws {
    let sample = try fixture("pairing/qr_content_auth_on.txt")
    let token = try #require(sample.firstMatch(of: /"token":"([^"]+)"/)).1
    let now = Timestamp(seconds: 0)
    #expect(content(SignedPairingToken(text: String(token), expiresAt: now)) == sample.trimmed)
    #expect(
      content(nil)
        == #"{"http":"http://127.0.0.1:8766","repo":"cdev","session":"6f57d617-8d94-4810-b135-cddff5bc1007","ws":"ws://127.0.0.1:8766/ws"}"#
    )
  }
}
