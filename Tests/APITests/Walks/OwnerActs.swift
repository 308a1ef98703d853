import Cryptography
import Foundation
import HTTP

@testable import API

extension WalkSite {
  /// Performs an action of the owner, like the apps.
  ///
  /// - Returns: whether the action succeeded.
  func perform(_ act: OwnerAct) -> Bool {
    switch act {
    case .signsInByCode: return signInByCode() != nil
    case .signsInByPasskey: return signInByPasskey() != nil
    case .looksAtDevices:
      guard let token = signInByCode() else { return false }
      return send("GET", AccountPath.devices, token: token).status == 200
    case .signsOutEverywhere: return signOut(query: "revokeAll=true")
    case .removesAuthenticators: return signOut(query: "revokeAll=true&authenticators=true")
    }
  }

  /// Signs up on the phone that waits.
  ///
  /// - Returns: a problem; nil if the phone got its account, its credential and its push token.
  func signUpWaitingPhone() throws -> String? {
    try watch.forgetLimits()
    let phone = world.waiting
    let answer = Answer(
      respond(
        to: Request(
          method: "POST", path: AccountPath.register, query: "",
          fields: [("X-Device-Credential", phone.credential)],
          body: Array(
            jsonText([
              "email": phone.email, "name": "Dora", "deviceId": phone.phone,
              "deviceName": phone.phoneName, "platform": "ios",
            ]).utf8), remoteAddress: WalkWorld.ownerAddress, requestID: "owner")))
    _ = try watch.takeChanges()
    guard answer.status == 201, let account = answer.string("user", "id") else {
      return "\(answer.status) \(answer.text)"
    }
    func isOwn(_ row: WatchedRow, in table: String) -> Bool {
      watch.owner(of: row, in: table) == .account(account)
    }
    let hash = hexEncoded(sha256(phone.credential)).uppercased()
    guard
      watch.rows(of: "devices").contains(where: {
        isOwn($0, in: "devices") && $0["credential_hash"] == hash
          && $0["credential_trusted_at"] != nil
      })
    else { return "without its credential" }
    return watch.rows(of: "push_tokens").contains {
      isOwn($0, in: "push_tokens") && $0["token"] == pushTokenText("d")
    } ? nil : "without its push token"
  }

  private func signOut(query: String) -> Bool {
    guard let token = signInByCode() else { return false }
    return send("POST", AccountPath.logout, query: query, token: token).status == 200
  }

  private func signInByCode() -> String? {
    try? watch.forgetLimits()
    let asked = send(
      "POST", AccountPath.login,
      [
        "email": target.email, "deviceId": target.phone, "deviceName": target.phoneName,
        "platform": "ios", "method": "email",
      ])
    guard asked.status == 200, (try? watch.takeChanges()) != nil,
      let code = mailed("login_code", to: target.email)
    else { return nil }
    return token(
      in: send(
        "POST", AccountPath.verify,
        ["email": target.email, "deviceId": target.phone, "code": code]))
  }

  private func signInByPasskey() -> String? {
    let asked = send(
      "POST", AccountPath.login,
      [
        "email": target.email, "deviceId": target.phone, "deviceName": target.phoneName,
        "platform": "ios",
      ])
    guard let challenge = harvest(asked).first(where: { $0.kind == "challenge" })?.text else {
      return nil
    }
    return token(
      in: send(
        "POST", AccountPath.verify,
        [
          "deviceId": target.phone,
          "credential": world.ownerPasskey.asserted(answering: challenge),
        ]))
  }

  private func token(in response: Response) -> String? {
    // After the account lost its address, another account may have been made with that address.
    guard Answer(response).string("user", "id") == target.accountID else { return nil }
    return harvest(response).first { $0.kind == "accessToken" }?.text
  }

  private func send(
    _ method: String, _ path: String, _ members: [String: any Sendable] = [:], query: String = "",
    token: String? = nil
  ) -> Response {
    respond(
      to: Request(
        method: method, path: path, query: query,
        fields: token.map { [("Authorization", "Bearer \($0)")] } ?? [],
        body: members.isEmpty ? [] : Array(jsonText(members).utf8),
        remoteAddress: WalkWorld.ownerAddress, requestID: "owner"))
  }
}
