import HTTP
import Store

/// A check that a genuine app has sent a request. The family that uses it does not depend on the family that
/// implements it.
struct AppProof: Sendable {
  /// The header fields of the proof, and the errors and limits of ``checkWrite``, for the description of the API.
  let fields: @Sendable () -> [Operation.Parameter]
  let errors: @Sendable () -> [Failure]
  let limits: [Limit]
  /// Checks the proof of a write, and marks the proof as used.
  ///
  /// Throws ``Failure`` if a required proof is missing or wrong.
  let checkWrite: @Sendable (Request, Caller, borrowing Context) throws -> ClientFacts
  /// Records the key whose proof a read has. Never rejects a read for a wrong proof.
  let noteRead: @Sendable (Request, Caller, borrowing Context) throws -> Void
}
