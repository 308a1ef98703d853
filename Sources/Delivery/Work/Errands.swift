import Base
import Cryptography
import Logging
package import Store

extension Companion {
  /// Does all errands of the lane that are open, the one that has waited longest first.
  ///
  /// - Throws: where the database does not answer.
  package func runErrands(of lane: Errand.Lane = .others) throws {
    while !stopping.isSet {
      let claimID = timeOrderedUUID(milliseconds: Timestamp.now().milliseconds)
      guard let errand = try database.claimErrand(of: lane, as: claimID) else { return }
      var metadata: Logger.Metadata = [
        "errand": "\(errand.id)", "kind": "\(errand.kind.rawValue)",
        "attempts": "\(errand.attempts)",
      ]
      do {
        let isDone = try perform(errand)
        log.info(isDone ? "errand done" : "errand done too late", metadata: metadata)
      } catch let error where !Database.isUnavailable(error) {
        // It is claimed again when its lease ends, and buried at the third time.
        metadata["error"] = "\(error)"
        log.error("errand failed", metadata: metadata)
      }
    }
  }

  /// - Returns: false where nobody waits for the result any more, or another pass has the errand.
  private func perform(_ errand: Errand) throws -> Bool {
    switch errand.kind {
    case .pushTest:
      let test = try Errand.decode(PushTest.self, from: errand.request)
      return try database.finish(errand, with: try Errand.json(testPush(test)))
    case .turnCheck: return try database.finish(errand, with: try turnCheck(errand))
    case .bankEnrollment: return try enroll(errand)
    }
  }
}
