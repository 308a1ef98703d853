import HTTP
import Store

/// How a family finds out whether the app that sends a request is genuine, without knowing who
/// proves it.
struct AppProof: Sendable {
  /// Checks the proof that a write carries, and spends it.
  ///
  /// Throws ``Failure`` where proof is required and missing or wrong.
  let checkWrite: @Sendable (Request, Caller, borrowing Context) throws -> ClientFacts
  /// Remembers whose proof a read carries. A read is never refused for a wrong proof.
  let noteRead: @Sendable (Request, Caller, borrowing Context) throws -> Void
}
