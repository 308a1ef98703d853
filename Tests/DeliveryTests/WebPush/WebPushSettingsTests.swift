import Cryptography
import ProcessSupport
import SharedSettings
import Testing

@testable import Delivery
@testable import switchboard_companion

/// The companion's variables of Web Push.
@Suite struct WebPushSettingsTests {
  private func parse(_ changes: [String: String]) -> (WebPushSettings?, [String]) {
    var environment = Environment(
      ["WEBPUSH_VAPID_KEY": testPrivateKey, "SWITCHBOARD_ADMINISTRATOR": "a@example.org"]
        .merging(changes) { $1 })
    let publicURL = environment.optionalPublicURL()
    let contact = Contact(from: &environment, publicURL: publicURL)
    let settings = WebPushSettings(from: &environment, contact: contact)
    return (settings, environment.complaints)
  }

  @Test func aKeyAndASubjectAreEnough() throws {
    let (parsed, complaints) = parse([:])
    let settings = try #require(parsed)
    #expect(complaints == [])
    let key = try P256PrivateKey(pem: testPrivateKey).publicKey().uncompressedPoint
    #expect(settings.vapid.publicKey == base64URLEncoded(key))
    #expect(settings.certificatesFile == nil)
    #expect(settings.services.allow("https://fcm.googleapis.com/x"))
    #expect(!settings.services.allow("https://push.example.org/x"))
  }

  /// systemd passes an absent file of secrets in this way.
  @Test func withoutAKeyNothingIsSentToBrowsers() {
    let (settings, complaints) = parse(["WEBPUSH_VAPID_KEY": ""])
    #expect(settings == nil)
    #expect(complaints == [])
  }

  @Test(arguments: ["secret", "-----BEGIN PRIVATE KEY-----\nsecret\n-----END PRIVATE KEY-----"])
  func anotherKeyIsAComplaintWithoutIt(key: String) {
    let (settings, complaints) = parse(["WEBPUSH_VAPID_KEY": key])
    #expect(settings == nil)
    #expect(
      complaints == ["WEBPUSH_VAPID_KEY must be what `switchboard-companion keys vapid` made."])
  }

  @Test func theSubjectIsTheAdministratorOrTheSite() throws {
    let site = ["SWITCHBOARD_PUBLIC_URL": "https://site.example.org"]
    for (variables, subject) in [
      (site, "mailto:a@example.org"),
      (site.merging(["SWITCHBOARD_ADMINISTRATOR": ""]) { $1 }, "https://site.example.org"),
    ] {
      let (parsed, complaints) = parse(variables)
      #expect(complaints == [])
      let settings = try #require(parsed)
      let token = try settings.vapid.authorization(
        for: "https://push.example.org", expiresAt: .now())
      let claims = try #require(base64URLDecoded(String(token.split(separator: ".")[1])))
      let written = subject.replacing("/", with: "\\/")
      let text = String(decoding: claims, as: UTF8.self)
      #expect(text.contains("\"\(subject)\"") || text.contains("\"\(written)\""), "\(text)")
    }
  }

  @Test(arguments: ["", "http://site.example.org"])
  func withoutASubjectTheVariableIsNamed(site: String) {
    let (settings, complaints) = parse([
      "SWITCHBOARD_ADMINISTRATOR": "", "SWITCHBOARD_PUBLIC_URL": site,
    ])
    #expect(settings == nil)
    #expect(
      complaints == [
        "SWITCHBOARD_ADMINISTRATOR is missing: the e-mail address of a person that push services may ask."
      ])
  }

  @Test(arguments: ["me", "mailto:me@example.org", "https://example.org", "a b@c"])
  func aMalformedAdministratorIsOneComplaint(administrator: String) {
    #expect(
      parse(["SWITCHBOARD_ADMINISTRATOR": administrator]).1
        == ["SWITCHBOARD_ADMINISTRATOR must be an e-mail address in ASCII."])
  }

  @Test func furtherServicesAreAList() throws {
    let hosts = "push.example.org, *.example.net,127.0.0.1:8443"
    let settings = try #require(parse(["WEBPUSH_HOSTS": hosts]).0)
    for right in [
      "https://push.example.org/x", "https://a.example.net/", "https://127.0.0.1:8443/x",
      "https://web.push.apple.com/x",
    ] { #expect(settings.services.allow(right), "\(right)") }
    for wrong in ["https://example.net/", "https://127.0.0.1/x", "http://push.example.org/x"] {
      #expect(!settings.services.allow(wrong), "\(wrong)")
    }
  }

  @Test(arguments: ["https://push.example.org", "Push.example.org", "a b", "host/path", "*"])
  func aHostThatIsNoneIsAComplaint(host: String) {
    #expect(
      parse(["WEBPUSH_HOSTS": host]).1 == [
        "WEBPUSH_HOSTS must be hosts, host, host:port or *.host, in small letters, separated by commas."
      ])
  }

  @Test func certificatesAreNamedByTheirFile() throws {
    try withFolder { folder in
      let file = "\(folder.folder)/certificates.pem"
      let none = parse(["WEBPUSH_CA_CERT": file]).1
      #expect(none == ["WEBPUSH_CA_CERT must be the path of a file that can be read."])
      try testPrivateKey.write(toFile: file, atomically: true, encoding: .utf8)
      let (settings, complaints) = parse(["WEBPUSH_CA_CERT": file])
      #expect(complaints == [])
      #expect(settings?.certificatesFile == file)
    }
  }
}
