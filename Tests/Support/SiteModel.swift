/// The secrets and the database with which the sites of this process begin, because a site that
/// makes its own takes twice the processor time. The sites of people make their own.
struct SiteModel {
  static let shared = Result { try SiteModel() }

  let state = makeTemporaryFolder()
  private let guardian: SiteGuardian

  private init() throws {
    guardian = SiteGuardian(of: state)
    // A file for each table would make a copy slower.
    let outcome = Site.run(
      [Site.script, "--prepare", "--state", state, "--bin", programFolder.path()],
      environment: ["SWITCHBOARD_MARIADB_OPTIONS": "--debug-no-sync --innodb-file-per-table=0"])
    guard outcome.status == 0 else { throw SiteError(doing: "nginx/run --prepare", outcome) }
  }
}
