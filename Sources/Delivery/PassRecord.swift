import Base
import Glibc
import Store

extension Companion {
  /// Records the pass and its problems.
  ///
  /// - Throws: if the database does not answer.
  func recordPass(begunAt began: ContinuousClock.Instant) throws {
    try look()
    try storeProblems()
    try records.companions.recordPass(
      host: hostName(), version: Product.version, missing: settings.missing,
      interval: settings.interval, duration: clock.now() - began)
    writeMetrics()
  }

  /// Stores the results of checks and the counts since the last call.
  ///
  /// - Throws: if the database does not answer.
  package func storeProblems() throws {
    let seen = problemLog.take()
    let host = hostName()
    try records.problems.record(seen.checks, by: host)
    try records.counters.add(seen.counts, on: host)
  }

  var records: Records { database.records(at: .now(), from: .companion) }
}

// MARK: Checks outside of jobs

extension Companion {
  /// Checks disks, clocks, files of secrets, the site, its certificate and the delay of the purge.
  fileprivate func look() throws {
    for disk in try disks() { problemLog.note(.disk, of: disk.name, disk.problem) }
    let difference = Timestamp.now() - (try database.now())
    problemLog.note(.clock, of: "database", clockProblem(difference, from: "the database's"))
    problemLog.note(.secrets, settings.secretFiles.problem)
    if !stopping.isSet { try lookAtSite() }
    problemLog.note(.purge, try purgeProblem())
  }

  private func disks() throws -> [Disk] {
    var folders = [("temporary files", getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp")]
    if case .directory(let path) = settings.mailer { folders.append(("mails", path)) }
    if let path = try database.localDataDirectory() { folders.append(("database", path)) }
    return folders.compactMap { name, path in Disk(of: path, named: name) }
  }

  /// Checks the site once a minute, and on each pass while it does not answer. Not more often,
  /// because the check makes two connections.
  private func lookAtSite() throws {
    guard let url = settings.publicURL,
      try records.problems.lastGoodLook(at: .site, by: hostName(), within: .seconds(60)) == nil
    else { return }
    let answer = SiteAnswer(at: url, stopping: stopping, clock: clock)
    if stopping.isSet { return }  // the answer may be missing because we stop
    problemLog.note(.site, answer.problem)
    guard WebURL(url)?.isHTTPS == true, let certificate = SiteCertificate(at: url, clock: clock)
    else { return }
    problemLog.note(
      .certificate,
      answer.isTrusted
        ? certificate.problem(at: .now())
        : certificate.problem(at: .now(), insteadOf: settings.certificateFingerprint))
  }

  private func purgeProblem() throws -> String? {
    let late = try records.measurements.purgeLateness(auditLifetime: settings.auditLifetime)
      .filter { $0.late > RetentionRule.grace }.map(\.table)
    return late.isEmpty
      ? nil
      : "Rows wait for more than a day to be deleted: \(late.joined(separator: ", "))."
  }
}
