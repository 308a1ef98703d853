import Base
import Cryptography
import Delivery
import Glibc
import ProcessSupport
import SharedSettings

extension WebPushSettings {
  /// - Returns: nil if no key is given, or after a complaint.
  init?(
    from environment: inout Environment, contact: Contact?, outbound: OutboundRule = OutboundRule()
  ) {
    let services = environment.pushServices()
    let certificates = environment.optional("WEBPUSH_CA_CERT")
    if let certificates, access(certificates, R_OK) != 0 {
      environment.complain(
        about: "WEBPUSH_CA_CERT", "must be the path of a file that can be read")
    }
    let name = "WEBPUSH_VAPID_KEY"
    guard let text = environment.optional(name) else { return nil }
    do throws(CryptographyError) {
      let key = try P256PrivateKey(pem: text)
      guard let subject = contact?.subject else {
        environment.complain(
          about: "SWITCHBOARD_ADMINISTRATOR",
          "is missing: the e-mail address of a person that push services may ask")
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
}
