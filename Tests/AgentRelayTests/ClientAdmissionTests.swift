import Logging
import StoreCore
import Support
import Synchronization
import Testing

@testable import AgentRelay

/// The relay's questions to the database.
@Suite struct ClientAdmissionTests {
  private static let phone = AgentClient.phone(id: "one", name: "")
  private static let log = Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() }

  /// The client is revoked after the database has read its row for an earlier question.
  @Test func anAnswerToAnEarlierQuestionAdmitsNoLaterRequest() {
    let gate = Gate()
    gate.close("database")
    let ended = Mutex<Set<AgentClient>>([])
    let admissions = ClientAdmissions(
      ended: { _ in
        let read = ended.withLock { $0 }
        gate.pass("database")
        return read
      }, requiresAuth: true, log: Self.log)
    admissions.start()
    defer { admissions.stop() }
    let first = admissions.ask(about: [Self.phone])
    wait(for: "the question to the database") { gate.isHolding("database") }
    ended.withLock { _ = $0.insert(Self.phone) }
    let second = admissions.ask(about: [Self.phone])
    #expect(admissions.take().question < first)
    gate.open("database")
    var verdicts = ClientAdmissions.Verdicts()
    var seen: [Int: ClientAdmissions.Verdict] = [:]
    wait(for: "the answer to the second question") {
      verdicts = admissions.take()
      if let verdict = verdicts.ofClients[Self.phone] { seen[verdicts.question] = verdict }
      return verdicts.question >= second
    }
    #expect(seen[second] == .ended)
    #expect(seen[first] != .ended)
  }
}
