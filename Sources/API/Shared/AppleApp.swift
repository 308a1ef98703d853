import HTTP

extension Request {
  /// The bundle id of the app that sent it, as it names itself: on the Mac, on a device or in a simulator; nil where it
  /// does not.
  var bundleID: String? {
    ["X-App-Bundle-ID", "X-iOS-App-Bundle-ID", "X-iOS-Bundle-ID"].lazy.compactMap(field)
      .first(where: \.isBundleID)
  }
}
