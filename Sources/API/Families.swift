extension Family {
  /// All families; the site's own comes first. Add each new family here.
  package static var all: [Family] {
    [
      .site, .accounts, .preferences(checking: .appAttest), .attestation, .push, .wallet, .pairing,
      .turns,
    ]
  }
}
