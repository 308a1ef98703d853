import Base
import Cryptography
import Delivery
import Glibc
import ProcessSupport
import SharedSettings

extension WebPushSettings {
  /// - Returns: nil if no key is given, or after a complaint.
  init?(from environment: inout Environment, outbound: OutboundRule = OutboundRule()) {
    let services = environment.pushServices()
    let certificates = environment.optional("WEBPUSH_CA_CERT")
    if let certificates, access(certificates, R_OK) != 0 {
      environment.complain(
        about: "WEBPUSH_CA_CERT", "must be the path of a file that can be read")
    }
    let before = environment.complaints.count
    let subject = Self.subject(&environment)
    if environment.complaints.count > before { return nil }
    let name = "WEBPUSH_VAPID_KEY"
    guard let text = environment.optional(name) else { return nil }
    do throws(CryptographyError) {
      let key = try P256PrivateKey(pem: text)
      guard let subject else {
        environment.complain(
          about: "WEBPUSH_SUBJECT",
          "is missing: the address of a person that push services may ask, such as mailto:you@example.org"
        )
        return nil
      }
      self.init(
        vapid: try VAPID(key: key, subject: subject), services: services,
        certificatesFile: certificates, outbound: outbound)
    } catch {
      environment.complain(about: name, "must be what `switchboard-companion keys vapid` made")
      return nil
    }
  }

  /// Contact for push services: WEBPUSH_SUBJECT, or else the administrator or the site.
  private static func subject(_ environment: inout Environment) -> String? {
    let name = "WEBPUSH_SUBJECT"
    if let subject = environment.optional(name) {
      guard subject.isVisibleASCII(atMost: 255),
        subject.hasPrefix("mailto:") || WebURL(subject)?.isHTTPS == true
      else {
        environment.complain(about: name, "must be a mailto: or https: address")
        return nil
      }
      return subject
    }
    if let administrator = environment.optional("SWITCHBOARD_ADMINISTRATOR") {
      return "mailto:\(administrator)"
    }
    return environment.optionalPublicURL().flatMap { WebURL($0)?.isHTTPS == true ? $0 : nil }
  }
}
