import Cryptography
import Logging
import Store

extension Companion {
  /// Does all errands that are open, the one that has waited longest first.
  ///
  /// - Throws: where the database does not answer.
  package func runErrands() throws {
    while !stopping.isSet {
      let claimID = timeOrderedUUID(milliseconds: Timestamp.now().milliseconds)
      guard let errand = try database.claimErrand(as: claimID) else { return }
      var metadata: Logger.Metadata = [
        "errand": "\(errand.id)", "kind": "\(errand.kind.rawValue)",
        "attempts": "\(errand.attempts)",
      ]
      do {
        let isDone = try database.finish(errand, with: try result(of: errand))
        log.info(isDone ? "errand done" : "errand done too late", metadata: metadata)
      } catch let error where !Database.isUnavailable(error) {
        // It is claimed again when its lease ends, and buried at the third time.
        metadata["error"] = "\(error)"
        log.error("errand failed", metadata: metadata)
      }
    }
  }

  /// What is written into the errand's row.
  private func result(of errand: Errand) throws -> [UInt8] {
    switch errand.kind {
    case .pushTest: try Errand.json(testPush(Errand.decode(PushTest.self, from: errand.request)))
    case .turnCheck: try turnCheck(errand)
    }
  }
}
