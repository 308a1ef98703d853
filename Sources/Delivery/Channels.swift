import Store

extension [DeliveryChannel] {
  /// The channel of each platform; the first one if two channels support it.
  var byPlatform: [PushPlatform: Channel] {
    Dictionary(
      flatMap { channel in channel.platforms.map { ($0, channel.name) } },
      uniquingKeysWith: { first, _ in first })
  }
}

extension DeliveryChannel {
  /// The channels that `settings` configure. A new channel needs a line here.
  static func configured(by settings: Settings, _ database: Database) -> [DeliveryChannel] {
    [
      settings.apns.isEmpty
        ? nil
        : DeliveryChannel.apns(
          settings.apns, database, sealingKeys: settings.keys, clock: settings.clock),
      settings.fcm.map {
        DeliveryChannel.fcm($0, database, sealingKeys: settings.keys, clock: settings.clock)
      },
      settings.webPush.map {
        DeliveryChannel.webPush($0, database, keys: settings.keys, clock: settings.clock)
      },
    ].compactMap { $0 }
  }
}
