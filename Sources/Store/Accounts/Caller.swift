import Base

/// The content of a verified access token. Only the database knows whether the session is still
/// alive.
package struct Caller: Sendable {
  /// `sub`
  package let accountID: String
  /// `deviceId`
  package let clientDeviceID: String
  /// `sid`
  package let sessionID: String
  /// `gen`
  package let place: TokenPlace
  /// SHA-256 of the `X-Device-Credential`, if the request has one.
  package let credentialHash: [UInt8]?
  /// The content of `X-Username`, if the family requires it: it must be the account's username.
  package var username: String?

  package init(
    accountID: String, clientDeviceID: String, sessionID: String, place: TokenPlace,
    credentialHash: [UInt8]?, username: String? = nil
  ) {
    self.accountID = accountID
    self.clientDeviceID = clientDeviceID
    self.sessionID = sessionID
    self.place = place
    self.credentialHash = credentialHash
    self.username = username
  }
}

/// The reason to reject a caller, whatever the request asks for.
package enum Refusal: Error, Equatable {
  /// The session of the access token has ended, or its device is revoked.
  case sessionEnded
  /// The access token is of a dead branch of its session: it was copied, or the phone's was.
  case deadBranch(session: String)
  /// The device credential is wrong, expired or another device's. `account` and `device` are those
  /// that it was shown for.
  case credential(account: String?, device: String?)
  /// The username is not the account's.
  case username
  /// The action needs a proof of the last ten minutes, or the device credential.
  case noFreshProof
  /// An administrator has banned the account, and the caller has proven to be its owner.
  case banned(account: String)
}

extension Refusal {
  /// Whether an administrator has banned the account.
  package var isBan: Bool {
    if case .banned = self { true } else { false }
  }
}

extension Refusal: AuditedRefusal {
  package func writeAudit(in records: Records) throws {
    switch self {
    case .credential(let account, let device):
      try records.transaction { transaction in
        try transaction.audit.write(.credentialRefused, account: account, device: device)
      }
    case .deadBranch(let session): try records.sessions.endCopied(session)
    case .banned(let account):
      try records.transaction { transaction in
        try transaction.audit.write(
          .signInRefused, account: account, detail: "the account is banned")
      }
    case .sessionEnded, .username, .noFreshProof: break
    }
  }
}
