import Base
import Cryptography
import Delivery
import FoundationEssentials
import Program
import Store

/// An app of `APNS_APPS_FILE`.
private struct WrittenApp: Decodable {
  enum Host: String, Decodable { case production, sandbox }

  let name: String
  let bundleId: String
  let teamId: String
  let keyId: String
  let keyFile: String
  let host: Host?
}

extension APNsSettings {
  /// The apps of the file that `APNS_APPS_FILE` names, or else the one of the variables.
  ///
  /// - Returns: with no app, the names of the variables that are missing, or of which `environment` got a complaint.
  static func parseFamily(
    from environment: inout Environment
  ) -> (apps: [APNsSettings], missing: [String]) {
    guard let path = environment.optional("APNS_APPS_FILE") else {
      return switch parse(from: &environment) {
      case .configured(let settings): ([settings], [])
      case .notConfigured(let names): ([], names)
      }
    }
    if let name = requiredVariables.first(where: { environment.optional($0) != nil }) {
      environment.complain(about: name, "must not be set together with APNS_APPS_FILE")
    }
    let common = Common(from: &environment)
    do throws(MalformedApps) {
      let written = try read(path)
      guard let common else { return ([], ["APNS_APPS_FILE"]) }
      return (try written.map { app throws(MalformedApps) in try settings(of: app, common) }, [])
    } catch {
      environment.complain(about: "APNS_APPS_FILE", error.rule)
      return ([], ["APNS_APPS_FILE"])
    }
  }

  private static func read(_ path: String) throws(MalformedApps) -> [WrittenApp] {
    let apps: [WrittenApp]
    do {
      let decoder = JSONDecoder()
      decoder.keyDecodingStrategy = .convertFromSnakeCase
      apps = try decoder.decode(
        [WrittenApp].self, from: Data(contentsOf: URL(filePath: path)))
    } catch {
      throw MalformedApps(
        "must be a file with a JSON array of apps, as the page Configure shows it")
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
    let key: P256PrivateKey
    do {
      key = try P256PrivateKey(pem: String(contentsOfFile: app.keyFile, encoding: .utf8))
    } catch {
      // Which rule it breaks would say something of it.
      throw MalformedApps(
        "must name for \(name) a key_file that can be read, a P-256 private key in PEM, not encrypted"
      )
    }
    return common.settings(
      name: name, keyID: keyID, teamID: team, topic: app.bundleId, key: key,
      environment: app.host == .sandbox ? .sandbox : .production)
  }
}

/// What is wrong with the file.
private struct MalformedApps: Error {
  /// Stands behind the name of the variable.
  let rule: String

  init(_ rule: String) { self.rule = rule }
}
