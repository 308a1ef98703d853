import Testing

@Suite struct HealthTests {
  @Test func healthIsOKWhileTheDatabaseAnswers() throws {
    try withApplication { site in
      let answer = site.send("GET", "/health")
      #expect(answer.status == 200)
      #expect(answer.text == #"{"status":"ok","database":"ok","last_poll":null}"#)
    }
  }
}
