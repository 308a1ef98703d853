import Base

extension Report {
  /// The keys of a file. The first one signs.
  package init(ofKeys ids: [String]) {
    self.init(
      Listing("keys", ["id", "use"], of: Array(ids.enumerated())) { number, id in
        [.text(id), .text(number == 0 ? "signs" : "verifies")]
      })
  }
}

/// The public halves of the companion's keys, as the responder's file has them: one on a line.
package struct PublicKeys: CommandAnswer, Sendable {
  private let entries: [String]

  package init(entries: [String]) { self.entries = entries }

  package var text: String { entries.joined(separator: "\n") }

  package var json: [UInt8] {
    JSONWriter.object { json in json.member("public_keys", json: JSONWriter.array(of: entries)) }
  }
}

/// The key that names the site to push services.
package struct VAPIDKey: CommandAnswer, Sendable {
  private let publicKey: String
  /// Whether the key is not in the file yet, because this is a rehearsal.
  private let isMissing: Bool

  /// - Parameter isNew: whether its file was made, or would be.
  package init(publicKey: String, isNew: Bool, isRehearsal: Bool) {
    self.publicKey = publicKey
    isMissing = isNew && isRehearsal
  }

  /// The public half alone, so that it can go into a file.
  package var text: String { isMissing ? rehearsal.text : publicKey }

  package var json: [UInt8] {
    isMissing ? rehearsal.json : JSONWriter.object { $0.member("public_key", publicKey) }
  }

  private var rehearsal: Change {
    Change(isRehearsal: true, "Made", or: "make", "the file with a new key.")
  }
}

/// A key that was added to a file, or that would be.
package struct NewKey: CommandAnswer, Sendable {
  let id: String
  let isRehearsal: Bool

  package init(id: String, isRehearsal: Bool) {
    self.id = id
    self.isRehearsal = isRehearsal
  }

  /// The id alone, so that it can be passed on.
  package var text: String { isRehearsal ? change.text : id }

  package var json: [UInt8] { change.json }

  private var change: Change {
    Change(isRehearsal: isRehearsal, "Added", or: "add", "the key \(id).", [("id", id)])
  }
}
