import Store

extension DeliveryChannel {
  /// The channels that `settings` configure. A new channel is a line here.
  static func configured(by settings: Settings, _ database: Database) -> [DeliveryChannel] {
    [
      settings.apns.map {
        DeliveryChannel.apns($0, database, sealingKeys: settings.keys)
      }
    ].compactMap { $0 }
  }
}
