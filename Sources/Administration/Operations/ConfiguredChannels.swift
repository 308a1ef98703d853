import Base
import Delivery

/// Description of the channels that this host's settings configure, for administrators. Holds no
/// secret.
struct ConfiguredChannels: Sendable {
  /// One app at Apple.
  private struct App: Sendable {
    let name: String
    let bundleID: String
    let teamID: String
    let host: String
  }

  private let apps: [App]
  private let missingForApple: String
  /// Project and service account at Google; nil if nothing is sent to Android.
  private let firebase: (project: String, account: String)?
  /// Public key that pages subscribe with; nil if nothing is sent to browsers.
  private let vapidPublicKey: String?

  init(_ settings: Settings) {
    apps = settings.apns.map {
      App(name: $0.name, bundleID: $0.topic, teamID: $0.teamID, host: $0.endpoint.description)
    }
    missingForApple = settings.missingForPushes.joined(separator: " ")
    firebase = settings.fcm.map { ($0.project, $0.account) }
    vapidPublicKey = settings.webPush?.vapid.publicKey
  }

  /// One line for each app and each other channel, including channels that are not configured.
  var text: String {
    let apple = apps.map { app in
      let name = app.name == app.bundleID ? app.bundleID : "\(app.name) (\(app.bundleID))"
      return "Apple: \(name) of team \(app.teamID), first at \(app.host)"
    }
    let others = [
      firebase.map { "Android: Firebase project \($0.project), as \($0.account)" }
        ?? "Android: not set (FCM_SERVICE_ACCOUNT)",
      vapidPublicKey.map { "Browsers: with the public key \($0.prefix(16))…" }
        ?? "Browsers: not set (WEBPUSH_VAPID_KEY)",
    ]
    let lines = (apple.isEmpty ? ["Apple: not set (\(missingForApple))"] : apple) + others
    return (["Notifications go to"] + lines.map { "  \($0)" }).joined(separator: "\n")
  }

  /// The same as JSON, with null for a channel that is not configured.
  var json: [UInt8] {
    JSONWriter.object { json in
      json.member(
        "apns",
        array: { array in
          for app in apps {
            array.object { json in
              json.member("name", app.name)
              json.member("bundle_id", app.bundleID)
              json.member("team_id", app.teamID)
              json.member("host", app.host)
            }
          }
        })
      json.member(
        "fcm",
        json: firebase.map { firebase in
          JSONWriter.object { json in
            json.member("project", firebase.project)
            json.member("account", firebase.account)
          }
        } ?? Array("null".utf8))
      json.member(
        "webpush",
        json: vapidPublicKey.map { key in
          JSONWriter.object { $0.member("public_key", key) }
        } ?? Array("null".utf8))
    }
  }
}
