import Base
import HTTP

/// `GET /.well-known/apple-app-site-association`: lists the apps that may use the site's passkeys on
/// Apple's devices, and that open links to payments (Apple, Supporting associated domains).
///
/// - Throws: ``Failure/notFound`` if the configuration names no app.
func getAssociatedApps(_ request: Request, in context: borrowing Context) throws -> Response {
  guard let ids = context.settings.attestation.apps?.appIDs, !ids.isEmpty else {
    throw Failure.notFound
  }
  let basePath = context.settings.basePath
  var response = Response.json { json in
    json.member("applinks", object: { $0.paymentLinks(below: basePath, to: ids) })
    json.member("webcredentials", object: { $0.member("apps", json: JSONWriter.array(of: ids)) })
  }
  response.fields.append(("Cache-Control", "public, max-age=3600"))
  return response
}

/// `GET /.well-known/assetlinks.json`: lists the Android apps that may use the site's passkeys and open its
/// links (Google, Digital Asset Links).
///
/// - Throws: ``Failure/notFound`` if the configuration names no app.
func getAssetLinks(_ request: Request, in context: borrowing Context) throws -> Response {
  let apps = context.settings.androidApps
  guard !apps.isEmpty else { throw Failure.notFound }
  let links = JSONWriter.array { array in
    for app in apps { array.object { $0.link(to: app) } }
  }
  return Response(
    status: 200,
    fields: [
      ("Content-Type", "application/json"), ("Cache-Control", "public, max-age=3600"),
    ], body: links)
}

extension JSONWriter {
  /// The pages of payments open in the apps; all others open in the browser.
  fileprivate mutating func paymentLinks(below basePath: String, to appIDs: [String]) {
    let components = JSONWriter.array { $0.object { $0.member("/", "\(basePath)/pay/*") } }
    let details = JSONWriter.array { details in
      details.object { detail in
        detail.member("appIDs", json: JSONWriter.array(of: appIDs))
        detail.member("components", json: components)
      }
    }
    member("details", json: details)
  }

  fileprivate mutating func link(to app: AndroidApp) {
    let relations = ["handle_all_urls", "get_login_creds"].map {
      "delegate_permission/common.\($0)"
    }
    member("relation", json: JSONWriter.array(of: relations))
    member(
      "target",
      object: { target in
        target.member("namespace", "android_app")
        target.member("package_name", app.package)
        target.member("sha256_cert_fingerprints", json: JSONWriter.array(of: app.fingerprints))
      })
  }
}

extension Endpoint {
  static var getAssociatedApps: Endpoint {
    Endpoint(API.getAssociatedApps) {
      Operation(
        "Lists the apps that may use the site's passkeys on Apple's devices, and open its payments.",
        answers: .json(
          [
            "applinks": [
              "details": .array(of: [
                "appIDs": .array(of: .string), "components": .array(of: ["/": .string]),
              ])
            ],
            "webcredentials": ["apps": .array(of: .string)],
          ], meaning: "The apps (Apple, Supporting associated domains)."),
        errors: [.notFound])
    }
  }

  static var getAssetLinks: Endpoint {
    Endpoint(API.getAssetLinks) {
      Operation(
        "Lists the Android apps that may use the site's passkeys and open its links.",
        answers: .json(
          .array(of: [
            "relation": .array(of: .string),
            "target": [
              "namespace": .string, "package_name": .string,
              "sha256_cert_fingerprints": .array(of: .string),
            ],
          ]), meaning: "The apps (Google, Digital Asset Links)."),
        errors: [.notFound])
    }
  }
}
