import Base
import HTTP
import Store

extension Request {
  /// The bundle id that the sending app names, on the Mac, on a device or in a simulator; nil if it names none.
  var bundleID: String? {
    ["X-App-Bundle-ID", "X-iOS-App-Bundle-ID", "X-iOS-Bundle-ID"].lazy.compactMap(field)
      .first(where: \.isBundleID)
  }
}
