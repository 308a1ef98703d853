import Base
package import Cryptography
package import Delivery
import Store

extension Companion {
  /// Checks the configuration and the services that the companion needs, without sending anything
  /// (compare `nginx -t`).
  ///
  /// - Parameters:
  ///   - publicKeys: the responder's keys, if they can be read here.
  ///   - isAccountShared: true if all programs use one database account.
  ///   - proxies: the responder's `SWITCHBOARD_TRUSTED_PROXIES`; empty if it is not set here.
  package func check(
    publicKeys: BoxPublicKeys? = nil, isAccountShared: Bool = false, proxies: [String] = []
  ) -> [CheckLine] {
    // The database is checked first, because other checks need it.
    let (ofDatabase, answers) = databaseChecks(isAccountShared)
    return ofDatabase + [.ok("the companion's configuration is complete")]
      + serviceChecks(databaseAnswers: answers)
      + callerChecks(trusting: proxies, databaseAnswers: answers)
      + [keyCheck(publicKeys), secretCheck()].compactMap { $0 }
  }

  /// - Returns: nil if no file of secrets is known.
  private func secretCheck() -> CheckLine? {
    settings.secretFiles.isEmpty
      ? nil
      : settings.secretFiles.problem.map { .problem($0) }
        ?? .ok("no other user can read the files of secrets")
  }

  /// - Returns: nil if the responder's keys are unknown.
  private func keyCheck(_ publicKeys: BoxPublicKeys?) -> CheckLine? {
    guard let theirs = publicKeys?.entries else { return nil }
    let own = settings.keys.publicKeys.entries
    return theirs.allSatisfy(own.contains)
      ? .ok("the responder seals for keys that the companion has")
      : .problem(
        "the responder seals for keys that the companion does not have: write its public keys again "
          + "with switchboard-companion keys public")
  }

  /// - Returns: the problems found, and whether the database answers.
  private func databaseChecks(_ isAccountShared: Bool) -> ([CheckLine], answers: Bool) {
    do {
      let inspections = try database.inspect(isAccountShared: isAccountShared)
      return (inspections.map { $0.isRight ? .ok($0.text) : .problem($0.text) }, true)
    } catch {
      return ([.problem(Database.problem(error))], !Database.isUnavailable(error))
    }
  }
}
