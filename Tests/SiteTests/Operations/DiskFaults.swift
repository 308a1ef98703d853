import Foundation
import Support
import Testing

/// Full disks: small ones, which only the site's programs see.
extension FaultSite {
  private var data: String { "\(site.state)/mariadb" }

  /// Moves the database to a small disk, if it is not there yet, and fills the disk and the free
  /// pages of the audit log. Other tables may still have free pages.
  func fillDatabaseDisk() throws {
    let server = try #require(site.pid(of: "mariadb"))
    try end("mariadb")
    try site.mount(
      """
      until [ "$(cut -d ' ' -f 3 /proc/\(server)/stat)" = Z ]; do sleep 0.1; done
      if ! mountpoint -q \(data); then
        mkdir \(folder)/disk
        mount -t tmpfs -o size=500m tmpfs \(folder)/disk
        cp -a \(data)/. \(folder)/disk
        mount --move \(folder)/disk \(data)
      fi
      """)
    try revive("mariadb")
    wait(for: "the database on the small disk") { (try? site.sql("SELECT 1")) != nil }
    try fill(data)
    try #require(fillAuditLog() == "1114\n")
  }

  func makeRoomForDatabase() throws { try site.mount("rm \(data)/filler") }

  /// Writes rows until the audit log has used all of its pages and would have to grow.
  ///
  /// - Returns: the number of the final error.
  private func fillAuditLog() -> String {
    Site.run([
      "mariadb", "--no-defaults", "--batch", "--skip-column-names", "--delimiter=//",
      "--socket=\(site.state)/run/mariadb.sock", "--user=\(NSUserName())", "switchboard",
      """
      --execute=BEGIN NOT ATOMIC
        DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN
          GET DIAGNOSTICS CONDITION 1 @number = MYSQL_ERRNO;
          SELECT @number;
        END;
        LOOP
          INSERT INTO audit_log (at, event, request_id, address) VALUES (UTC_TIMESTAMP(3), 'e', 'r', 'a');
        END LOOP;
      END
      """,
    ]).output
  }

  /// The folder for mails that become files instead of input of the mail command.
  private var files: String { "\(folder)/files" }

  func sendMailsToFullDisk() throws {
    try site.mount("mkdir \(files); mount -t tmpfs -o size=1m tmpfs \(files)")
    try fill(files)
    try restart(
      "companion",
      after: "env --unset=SWITCHBOARD_MAIL_COMMAND SWITCHBOARD_MAIL_DIRECTORY=\(files)")
  }

  /// Frees space, waits for all mails, and moves them to those of the mail command.
  func makeRoomForMails() throws {
    try site.mount("rm \(files)/filler")
    try wait(for: "a site without problems: \(site.companion("status").output)") {
      try self.isWell()
        && site.sql("SELECT COUNT(*) FROM outbox WHERE state IN ('open', 'dead')") == "0\n"
    }
    try site.mount("cp \(files)/*.eml \(folder)/mails; umount \(files)")
    try restart("companion")
  }

  private func fill(_ directory: String) throws {
    try site.mount(
      "dd if=/dev/zero of=\(directory)/filler bs=64k 2>&1 | grep -q 'No space left on device'")
  }

  /// Sets MariaDB's clock by an offset, or back to the true time, and waits for the end of a pass
  /// with it.
  func setDatabaseClock(_ offset: String?) throws {
    let words = try offset.map { try clock($0) }
    try restart("mariadb", after: words ?? "")
    // Apple accepts one new provider token in 20 minutes; the restart makes it forget the earlier
    // tokens.
    try restart("apns")
    wait(for: "the end of a pass with the clock of the database") {
      (try? site.sql(
        """
        SELECT COUNT(*) FROM companion_status
        WHERE last_pass_at BETWEEN UTC_TIMESTAMP(3) - INTERVAL 1 MINUTE AND UTC_TIMESTAMP(3)
        """)) == "1\n"
    }
  }
}
