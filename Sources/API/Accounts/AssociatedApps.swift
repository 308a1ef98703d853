import Base
import HTTP

/// `GET /.well-known/apple-app-site-association`: the apps that may use the site's passkeys on
/// Apple's devices (Apple, Supporting associated domains).
///
/// - Throws: ``Failure/notFound(_:)`` if the configuration names no app.
func getAssociatedApps(_ request: Request, in context: borrowing Context) throws -> Response {
  guard let ids = context.settings.attestation.apps?.appIDs, !ids.isEmpty else {
    throw Failure.notFound()
  }
  var response = Response.json { json in
    json.member("webcredentials", object: { $0.member("apps", json: JSONWriter.array(of: ids)) })
  }
  response.fields.append(("Cache-Control", "public, max-age=3600"))
  return response
}
