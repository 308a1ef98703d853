import Base

extension Report {
  /// Lists the keys of a file. The first one signs.
  package init(ofKeys ids: [String]) {
    self.init(
      Listing("keys", ["id", "use"], of: Array(ids.enumerated())) { number, id in
        [.text(id), .text(number == 0 ? "signs" : "verifies")]
      })
  }
}

/// The companion's public keys in the format of the responder's file: one per line.
package struct PublicKeys: CommandAnswer, Sendable {
  private let entries: [String]

  package init(entries: [String]) { self.entries = entries }

  package var text: String { entries.joined(separator: "\n") }

  package var json: [UInt8] {
    JSONWriter.object { json in json.member("public_keys", json: JSONWriter.array(of: entries)) }
  }
}

/// Key that identifies the site to push services.
package struct VAPIDKey: CommandAnswer, Sendable {
  private let publicKey: String
  /// Whether the file does not have the key, because this is a dry run.
  private let isMissing: Bool

  /// - Parameter isNew: true if the file was made, or would be made without the dry run.
  package init(publicKey: String, isNew: Bool, isRehearsal: Bool) {
    self.publicKey = publicKey
    isMissing = isNew && isRehearsal
  }

  /// Only the public key, so that it can be written to a file.
  package var text: String { isMissing ? rehearsal.text : publicKey }

  package var json: [UInt8] {
    isMissing ? rehearsal.json : JSONWriter.object { $0.member("public_key", publicKey) }
  }

  private var rehearsal: Change {
    Change(isRehearsal: true, "Made", or: "make", "the file with a new key.")
  }
}

/// Key that was added to a file, or would be without the dry run.
package struct NewKey: CommandAnswer, Sendable {
  let id: String
  let isRehearsal: Bool

  package init(id: String, isRehearsal: Bool) {
    self.id = id
    self.isRehearsal = isRehearsal
  }

  /// Only the id, so that a script can use it.
  package var text: String { isRehearsal ? change.text : id }

  package var json: [UInt8] { change.json }

  private var change: Change {
    Change(isRehearsal: isRehearsal, "Added", or: "add", "the key \(id).", [("id", id)])
  }
}
