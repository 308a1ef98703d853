import Cryptography
import Foundation
import ProcessSupport
import SharedSettings
import Support
import Testing

@testable import API
@testable import switchboard_responder

/// A site with several addresses.
@Suite struct PublicURLTests {
  private static let other = "https://api.old.example"

  private func read(_ variables: [String: String]) -> (API.Settings?, [String]) {
    var environment = Environment(requiredVariables.merging(variables) { $1 })
    return (API.Settings(from: &environment), environment.complaints)
  }

  private let urls = "https://a.example, https://b.example:8443/x ,http://127.0.0.1:8080"

  @Test func theFirstAddressIsTheMainOne() {
    let (settings, complaints) = read(["SWITCHBOARD_PUBLIC_URL": urls])
    #expect(complaints == [])
    #expect(settings?.publicURL == "https://a.example")
    #expect(
      settings?.publicURLs
        == ["https://a.example", "https://b.example:8443/x", "http://127.0.0.1:8080"])
    #expect(settings?.agent.publicURL == "https://a.example")
    #expect(settings?.relyingParty.id == "a.example")
    #expect(
      settings?.relyingParty.origins
        == ["https://a.example", "https://b.example:8443", "http://127.0.0.1:8080"])
  }

  @Test(arguments: [
    "a.example", "https://a.example/", "https://a.example,", ",https://a.example",
    "https://a.example,ftp://b.example", "https://a.example,https://x@y", "https://a.example/?b",
    "https://a.example/a\"b", "https://a.example/<a>", "https://a.example/%61",
    "https://a.example#b",
  ])
  func malformedListsAreComplaints(list: String) {
    let (_, complaints) = read(["SWITCHBOARD_PUBLIC_URL": list])
    #expect(complaints.count == 1)
    #expect(complaints.first?.hasPrefix("SWITCHBOARD_PUBLIC_URL must ") == true, "\(complaints)")
  }

  /// Apps that use an old address keep working while the site moves.
  @Test func whatWasSignedForAnyAddressCounts() throws {
    try withDatabase { root in
      let old = TestApplication(
        root, settings: .ofTests(publicURL: Self.other, attestation: .ofTests()))
      let ann = try old.signUp()
      let site = TestApplication(
        root,
        settings: .ofTests(
          publicURLs: [TestApplication.publicURL, Self.other], attestation: .ofTests()))
      #expect(site.summary(ann.accessToken).status == 200)
      let phone = try site.enrolledPhone()
      for (counter, url) in [(1, TestApplication.publicURL), (2, Self.other)] as [(UInt32, String)]
      {
        let signed = site.signedRequest().replacing(TestApplication.publicURL, with: url)
        #expect(site.post(provenBy: phone, counter: counter, by: ann, signed: signed).status == 200)
      }
      let foreign = site.signedRequest().replacing("api.example.org", with: "api.evil.example")
      #expect(
        site.post(provenBy: phone, counter: 3, by: ann, signed: foreign)
          .isUnproved("challenge_mismatch"))
      let key = Authenticator(origin: Self.other)
      try site.addPasskey(key, of: ann)
      #expect(try site.signIn(with: key).status == 200)
      let without = TestApplication(root)
      #expect(without.summary(ann.accessToken).status == 401)
    }
  }
}
