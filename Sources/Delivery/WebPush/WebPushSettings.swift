package import Base
package import Cryptography

/// What sending to browsers needs to know.
package struct WebPushSettings: Sendable {
  package let vapid: VAPID
  /// The only hosts that are asked.
  package let services: PushServices
  /// PEM certificates that are trusted beside the system's, for a push service of one's own; nil: none.
  package let certificatesFile: String?
  /// What the addresses of those hosts must keep to.
  package let outbound: OutboundRule

  package init(
    vapid: VAPID, services: PushServices, certificatesFile: String? = nil,
    outbound: OutboundRule = OutboundRule()
  ) {
    self.vapid = vapid
    self.services = services
    self.certificatesFile = certificatesFile
    self.outbound = outbound
  }
}
