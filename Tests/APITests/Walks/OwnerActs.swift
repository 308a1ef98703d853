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
