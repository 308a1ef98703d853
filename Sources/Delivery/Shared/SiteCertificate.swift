import Base

/// The certificate that the site shows to whoever connects.
struct SiteCertificate {
  let expiresAt: Timestamp

  /// Why it must be renewed; nil while it is good for two weeks.
  func problem(at now: Timestamp) -> String? {
    let days = (expiresAt - now).components.seconds / 86_400
    if expiresAt <= now { return "The site's certificate has expired." }
    return days < 14 ? "The site's certificate expires in \(days) days." : nil
  }
}

extension SiteCertificate {
  /// - Returns: nil where the site is not reached from here.
  init?(at url: String) {
    let client = HTTPClient(userAgent: "Switchboard/\(Product.version)")
    guard let destination = Destination(configured: url),
      let expiry = client.certificateExpiry(of: destination)
    else { return nil }
    expiresAt = expiry
  }
}
