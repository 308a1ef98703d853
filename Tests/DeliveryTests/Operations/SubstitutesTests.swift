import ProcessSupport
import Testing

@testable import Delivery
@testable import switchboard_companion

@Suite struct SubstitutesTests {
  private func read(_ text: String) -> (Substitutes, [String]) {
    var environment = Environment(["SWITCHBOARD_SUBSTITUTES": text])
    let substitutes = Substitutes(from: &environment)
    return (substitutes, environment.complaints)
  }

  @Test func eachServerHasAName() {
    let (all, complaints) = read(
      "fcm=https://fcm.example.org, ogs=http://127.0.0.1:8080/x,apns-other=https://[::1]:8443")
    #expect(complaints == [])
    #expect(all.fcm == "https://fcm.example.org" && all.ogs == "http://127.0.0.1:8080/x")
    #expect(all.otherAPNs == APNsEndpoint(host: "::1", port: 8443))
    let (none, _) = read("")
    #expect(none.fcm == nil && none.ogs == nil && none.otherAPNs == nil)
  }

  @Test func aClockCanBeSlow() {
    let (all, complaints) = read("slowness=1000,ogs=http://127.0.0.1:8080")
    #expect(complaints == [] && all.ogs != nil)
    #expect(all.clock.realTime(of: .seconds(7)) == .seconds(7000))
    #expect(read("").0.clock.realTime(of: .seconds(7)) == .seconds(7))
  }

  @Test(arguments: [
    "https://fcm.example.org", "fcm", "fcm=", "fcm=fcm.example.org", "fcm=https://fcm.example.org/",
    "ogs=ftp://ogs.example.org", "ogs=file:///etc", "apns-other=http://localhost",
    "apns=https://localhost", "ogs=http://127.0.0.1,x", "slowness=0", "slowness=10001",
    "slowness=x",
  ])
  func aMalformedListIsOneComplaint(text: String) {
    #expect(
      read(text).1 == [
        "SWITCHBOARD_SUBSTITUTES must be a list of fcm=URL, ogs=URL and apns-other=URL, each without a final slash, and slowness=NUMBER, separated by commas; apns-other needs https."
      ])
  }
}
