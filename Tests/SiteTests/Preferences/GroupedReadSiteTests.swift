import Support
import Testing

/// Reads of preferences that wait at the same time.
@Suite(.serialized) struct GroupedReadSiteTests {
  @Test func amongReadsOfOthersASignOutCountsAtOnce() async throws {
    try await withSite { site in
      let ann = try site.signUp()
      let answers = try site.underLoad(by: ann) {
        for number in 1...3 {
          let bob = try site.signUp(email: "bob-\(number)@example.org", device: "phone-\(number)")
          for _ in 0..<10 {
            #expect(site.curl("/api/v1/device-prefs", "--header", bob.bearer).status == 200)
          }
          #expect(site.post("/api/mobile/auth/logout", "{}", bob.bearer).status == 200)
          for _ in 0..<10 {
            #expect(site.curl("/api/v1/device-prefs", "--header", bob.bearer).status == 401)
          }
        }
      }
      #expect(answers.keys.allSatisfy { $0 == 200 })
    }
  }
}
