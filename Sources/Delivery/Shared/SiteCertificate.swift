import Base
import Cryptography

/// TLS certificate of the site.
struct SiteCertificate {
  let expiresAt: Timestamp
  /// SHA-256 of its DER form.
  let fingerprint: [UInt8]

  /// Reason why the certificate must be renewed; nil if it is valid for two more weeks.
  func problem(at now: Timestamp) -> String? {
    let days = (expiresAt - now).components.seconds / 86_400
    if expiresAt <= now { return "The site's certificate has expired." }
    return days < 14 ? "The site's certificate expires in \(days) days." : nil
  }

  /// The same for a certificate that this host does not trust, with the expected fingerprint.
  func problem(at now: Timestamp, insteadOf expected: [UInt8]?) -> String? {
    guard let expected, expected != fingerprint else { return problem(at: now) }
    return "The site shows a certificate that this host does not trust, and not the one that "
      + "SWITCHBOARD_CERTIFICATE_FINGERPRINT names."
  }

  /// Fingerprint in the format of `openssl x509 -fingerprint -sha256`.
  var fingerprintText: String {
    fingerprint.map { hexEncoded([$0]).uppercased() }.joined(separator: ":")
  }
}

extension SiteCertificate {
  /// - Returns: nil if this host cannot reach the site.
  init?(at url: String, clock: LimitClock = .system) {
    let client = HTTPClient(userAgent: "Switchboard/\(Product.version)", clock: clock)
    guard let destination = Destination(configured: url),
      let certificate = client.certificate(of: destination)
    else { return nil }
    self = certificate
  }
}
