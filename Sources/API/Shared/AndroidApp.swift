import Base
import Cryptography

/// An Android app that may use the site's passkeys.
package struct AndroidApp: Sendable, Equatable {
  package let package: String
  /// SHA-256 of the app's signing certificates, each as `AB:CD:…`.
  package private(set) var fingerprints: [String]

  /// - Parameter text: `package=fingerprint`.
  /// - Returns: nil if `text` does not have this form.
  package init?(_ text: String) {
    let parts = text.split(separator: "=", omittingEmptySubsequences: false).map {
      String($0).trimmed
    }
    guard parts.count == 2, Self.isPackage(parts[0]), Self.bytes(of: parts[1])?.count == 32 else {
      return nil
    }
    package = parts[0]
    fingerprints = [parts[1].uppercased()]
  }

  /// The apps of `texts`, each in the form of ``init(_:)``. An app with several certificates has several
  /// texts.
  package static func merging(_ texts: [String]) -> [AndroidApp] {
    var apps: [AndroidApp] = []
    for app in texts.compactMap({ AndroidApp($0) }) {
      if let known = apps.firstIndex(where: { $0.package == app.package }) {
        apps[known].fingerprints += app.fingerprints.filter {
          !apps[known].fingerprints.contains($0)
        }
      } else {
        apps.append(app)
      }
    }
    return apps
  }

  /// The origins that the app sends with a passkey.
  var origins: [String] {
    fingerprints.map { "android:apk-key-hash:\(base64URLEncoded(Self.bytes(of: $0)!))" }
  }

  private static func bytes(of fingerprint: String) -> [UInt8]? {
    let pairs = fingerprint.split(separator: ":", omittingEmptySubsequences: false)
    guard pairs.allSatisfy({ $0.utf8.count == 2 }) else { return nil }
    return hexDecoded(pairs.joined().lowercased())
  }

  /// Two or more names with a letter first, joined by points (Android, application id).
  private static func isPackage(_ text: String) -> Bool {
    let names = text.split(separator: ".", omittingEmptySubsequences: false)
    return names.count > 1
      && names.allSatisfy { name in
        name.utf8.first?.isLetter == true
          && name.utf8.allSatisfy { $0.isAlphanumeric || $0 == UInt8(ascii: "_") }
      }
  }
}
