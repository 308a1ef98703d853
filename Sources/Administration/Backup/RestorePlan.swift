import Base
import Store

extension Restore {
  /// Effects of ``run(progress:)``, including the phones that it signs out, in whole sentences.
  package func plan() throws -> [String] {
    let manifest = content.manifest
    let counts = manifest.counts
    return [
      "The database \(database) is brought back as it was at \(manifest.madeAt) on \(manifest.host.printable), with "
        + "\(counts.sessions) signed-in phones and \(counts.pairedPhones) paired phones.",
      manifest.schemaVersion < Database.schemaVersion
        ? "Its schema is brought from version \(manifest.schemaVersion) to \(Database.schemaVersion)."
        : nil,
      try signedOut(),
      "Sessions, paired phones and merchants' keys that were ended since then are valid again.",
      "Payments, sign-in codes, challenges, enrollments and pairing codes that were open then are closed: "
        + "\(counts.openPayments) payments. Unsent mails with codes are not sent; \(counts.unsentMails) mails waited then.",
      state == "none" ? nil : "The database that is there now is kept as \(before).",
      "\(manifest.files.count) files with secrets and configuration are put back. Files that are there now and differ are kept.",
    ].compactMap { $0 }
  }

  /// Sentence about signed-out phones, with their numbers if the present database can be read.
  private func signedOut() throws -> String {
    let sentence =
      "Phones that have signed in, or got new tokens, since then are signed out: their people sign in again, or pair the phone "
      + "again."
    // The numbers are optional: the sentence is true without them.
    guard state == "used",
      let counts = try? administrator.run(
        BackupScripts.renewals,
        ["instant": String(content.manifest.madeAt.dropLast().replacing("T", with: " "))],
        in: database
      ).compactMap({ Int($0) }), counts.count == 2
    else { return sentence }
    return sentence
      + " In the present database these are \(counts[0]) phones, and \(counts[1]) paired phones."
  }

  package func json(done: Bool, problems: [String], remaining: [String]) throws -> String {
    let (manifest, plan) = (content.manifest, done ? [] : try plan())
    return String(
      decoding: JSONWriter.object { json in
        json.member("restored", done)
        json.member("database", database)
        json.member("made_at", manifest.madeAt)
        json.member("schema_version", manifest.schemaVersion)
        json.member("sessions", Int64(manifest.counts.sessions))
        json.member("paired_phones", Int64(manifest.counts.pairedPhones))
        json.member("open_payments", Int64(manifest.counts.openPayments))
        json.member("plan", json: JSONWriter.array(of: plan))
        json.member("problems", json: JSONWriter.array(of: problems))
        json.member("remaining", json: JSONWriter.array(of: remaining))
      }, as: UTF8.self)
  }
}
