import Base
import Cryptography
import Delivery
import ProcessSupport
import SharedSettings
import Store

/// App of `APNS_APPS`. Its key is given there or in a file.
private struct WrittenApp: Decodable {
  enum Host: String, Decodable { case production, sandbox }

  let name: String
  let bundleId: String
  let teamId: String
  let keyId: String
  let key: String?
  let keyFile: String?
  let host: Host?

  private enum CodingKeys: String, CodingKey {
    case name, key, host
    case bundleId = "bundle_id"
    case teamId = "team_id"
    case keyId = "key_id"
    case keyFile = "key_file"
  }
}

extension APNsSettings {
  /// The apps of `APNS_APPS`, or else the app of the other variables.
  ///
  /// - Returns: the apps; if there are none, the names of the variables that are missing or
  ///   malformed.
  static func parseFamily(
    from environment: inout Environment, substitutes: Substitutes
  ) -> (apps: [APNsSettings], missing: [String]) {
    let name = "APNS_APPS"
    let before = environment.complaints.count
    guard let text = environment.optional(name) else {
      if environment.complaints.count > before { return ([], [name]) }
      return switch parse(from: &environment, substitutes: substitutes) {
      case .configured(let settings): ([settings], [])
      case .notConfigured(let names): ([], names)
      }
    }
    for other in requiredVariables where environment.optional(other) != nil {
      environment.complain(about: other, "must not be set together with \(name)")
    }
    let common = Common(from: &environment, substitutes: substitutes)
    do throws(MalformedApps) {
      let written = try read(text)
      guard let common else { return ([], [name]) }
      return (try written.map { app throws(MalformedApps) in try settings(of: app, common) }, [])
    } catch {
      environment.complain(about: name, error.rule)
      return ([], [name])
    }
  }

  /// The key files that `APNS_APPS` names.
  static func keyFiles(from environment: inout Environment) -> [String] {
    let apps = environment.optional("APNS_APPS").flatMap { try? read($0) }  // a complaint was made
    return (apps ?? []).compactMap(\.keyFile)
  }

  private static func read(_ text: String) throws(MalformedApps) -> [WrittenApp] {
    let apps: [WrittenApp]
    do {
      apps = try decoded([WrittenApp].self, from: Array(text.utf8))
    } catch {
      throw MalformedApps("must be a JSON array of apps, as the page Configure shows it")
    }
    if apps.isEmpty { throw MalformedApps("must name at least one app") }
    for values in [apps.map(\.name), apps.map(\.bundleId)] where Set(values).count < apps.count {
      throw MalformedApps("must name each app once, with a bundle_id of its own")
    }
    return apps
  }

  private static func settings(
    of app: WrittenApp, _ common: Common
  ) throws(MalformedApps) -> APNsSettings {
    guard app.bundleId.isBundleID, let name = visible(app.name),
      let team = visible(app.teamId), let keyID = visible(app.keyId)
    else {
      throw MalformedApps(
        "must give each app a name, a bundle_id, a team_id and a key_id in visible ASCII")
    }
    return common.settings(
      name: name, keyID: keyID, teamID: team, topic: app.bundleId, key: try key(of: app),
      environment: app.host == .sandbox ? .sandbox : .production)
  }

  private static func key(of app: WrittenApp) throws(MalformedApps) -> P256PrivateKey {
    do {
      switch (app.key, app.keyFile) {
      case (let pem?, nil): return try P256PrivateKey(pem: pem)
      case (nil, let path?):
        return try P256PrivateKey(pem: String(contentsOfFile: path, encoding: .utf8))
      default: break
      }
    } catch {
      // The exact error is hidden, because it would reveal something about the key.
    }
    throw MalformedApps(
      "must give \(app.name) either a key or a key_file that can be read: a P-256 private key in PEM, not encrypted"
    )
  }
}

/// Problem with the apps.
private struct MalformedApps: Error {
  /// Text that follows the name of the variable.
  let rule: String

  init(_ rule: String) { self.rule = rule }
}
