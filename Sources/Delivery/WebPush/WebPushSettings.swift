package import Base
package import Cryptography
package import Store

/// Settings for sending to browsers.
package struct WebPushSettings: Sendable {
  package let vapid: VAPID
  /// Allowed hosts.
  package let services: PushServices
  /// PEM file of certificates that are trusted in addition to the system's, for a private push
  /// service; nil for none.
  package let certificatesFile: String?
  /// Rule for the addresses of these hosts.
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
