import Base
import HTTP

/// `GET /.well-known/apple-app-site-association`: lists the apps that may use the site's passkeys on
/// Apple's devices (Apple, Supporting associated domains).
///
/// - Throws: ``Failure/notFound`` if the configuration names no app.
func getAssociatedApps(_ request: Request, in context: borrowing Context) throws -> Response {
  guard let ids = context.settings.attestation.apps?.appIDs, !ids.isEmpty else {
    throw Failure.notFound
  }
  var response = Response.json { json in
    json.member("webcredentials", object: { $0.member("apps", json: JSONWriter.array(of: ids)) })
  }
  response.fields.append(("Cache-Control", "public, max-age=3600"))
  return response
}

/// `GET /.well-known/assetlinks.json`: lists the Android apps that may use the site's passkeys (Google,
/// Digital Asset Links).
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
