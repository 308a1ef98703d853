extension Family {
  /// Every family, the site's own first. A new family is a line here.
  package static var all: [Family] {
    [
      .site, .accounts, .preferences(checking: .appAttest), .attestation, .push, .wallet, .pairing,
      .turns,
    ]
  }
}
