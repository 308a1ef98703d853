import CNGHTTP2
import Glibc

/// Slots for the requests in flight.
///
/// nghttp2 does not copy the values of our fields, so each slot has memory with a fixed address
/// until its stream is closed.
final class RequestSlots {
  struct Slot {
    /// nil if the slot is free or its request has an outcome.
    var notification: APNsNotification?
    var streamID: Int32 = 0
    var deadline = ContinuousClock.Instant.now
    var sentSize = 0
    /// Whether flow control held back the rest of the payload.
    var isCut = false
    var status = 0
    /// Apple's id, if it differs from the notification's.
    var apnsID: String?
    var answerSize = 0
  }

  /// Bytes for path, `apns-id`, collapse id, expiration and topic.
  private static let textSize = 1024
  /// Maximum number of bytes kept of an answer's body; Apple's bodies have less than 100 bytes.
  static let answerLimit = 4096

  private let count: Int
  private let slots: UnsafeMutablePointer<Slot>
  /// Stack with ``freeCount`` elements.
  private let freeSlots: UnsafeMutablePointer<Int>
  private var freeCount: Int
  /// Number of slots whose payload was sent in part.
  private(set) var cutCount = 0
  private let texts: UnsafeMutablePointer<UInt8>
  private let answers: UnsafeMutablePointer<UInt8>

  /// Reserves memory; the system provides each page on first use.
  init(count: Int) {
    self.count = count
    slots = .allocate(capacity: count)
    slots.initialize(repeating: Slot(), count: count)
    freeSlots = .allocate(capacity: count)
    for slot in 0..<count { freeSlots[slot] = count - 1 - slot }
    freeCount = count
    texts = .allocate(capacity: count * Self.textSize)
    answers = .allocate(capacity: count * Self.answerLimit)
  }

  deinit {
    slots.deinitialize(count: count)
    slots.deallocate()
    freeSlots.deallocate()
    texts.deallocate()
    answers.deallocate()
  }

  var busyCount: Int { count - freeCount }
  /// Slots without an outcome.
  var pending: [Int] { (0..<count).filter { slots[$0].notification != nil } }

  // Access in place, because copying a slot counts its references.
  subscript(slot: Int) -> Slot {
    unsafeAddress { UnsafePointer(slots + slot) }
    unsafeMutableAddress { slots + slot }
  }

  /// Takes a free slot.
  func takeSlot() -> Int {
    freeCount -= 1
    return freeSlots[freeCount]
  }

  func freeSlot(_ slot: Int) {
    slots[slot].notification = nil
    mark(slot, isCut: false)
    freeSlots[freeCount] = slot
    freeCount += 1
  }

  func text(_ slot: Int) -> UnsafeMutableBufferPointer<UInt8> {
    UnsafeMutableBufferPointer(start: texts + slot * Self.textSize, count: Self.textSize)
  }

  /// Copies the next part of the payload, and calls `atEnd` if it is the last part.
  ///
  /// - Returns: the number of bytes copied.
  func copyPayload(
    of slot: Int, to buffer: UnsafeMutableBufferPointer<UInt8>, _ atEnd: () -> Void
  ) -> Int {
    let sent = slots[slot].sentSize
    let payload = slots[slot].notification?.payload ?? []  // empty for an expired request
    let count = min(max(payload.count - sent, 0), buffer.count)
    payload.withUnsafeBufferPointer {
      if count > 0 { buffer.baseAddress!.update(from: $0.baseAddress! + sent, count: count) }
    }
    slots[slot].sentSize = sent + count
    mark(slot, isCut: sent + count < payload.count)
    if sent + count >= payload.count { atEnd() }
    return count
  }

  private func mark(_ slot: Int, isCut: Bool) {
    guard slots[slot].isCut != isCut else { return }
    slots[slot].isCut = isCut
    cutCount += isCut ? 1 : -1
  }

  /// Whether `text` is the `apns-id` of the notification.
  func isID(of slot: Int, _ text: UnsafeBufferPointer<UInt8>) -> Bool {
    guard let id = slots[slot].notification?.id, id.utf8.count == text.count else { return false }
    return id.utf8.span.withUnsafeBufferPointer {
      memcmp($0.baseAddress!, text.baseAddress!, $0.count) == 0
    }
  }

  func appendAnswer(_ bytes: UnsafeBufferPointer<UInt8>, to slot: Int) {
    let size = slots[slot].answerSize
    let count = min(bytes.count, Self.answerLimit - size)
    guard count > 0 else { return }
    (answers + slot * Self.answerLimit + size).update(from: bytes.baseAddress!, count: count)
    slots[slot].answerSize = size + count
  }

  /// The outcome of the complete answer.
  func answeredOutcome(of slot: Int) -> APNsOutcome {
    let answer = UnsafeBufferPointer(
      start: answers + slot * Self.answerLimit, count: slots[slot].answerSize)
    return APNsOutcome(
      status: slots[slot].status, body: answer.span,
      apnsID: slots[slot].apnsID ?? slots[slot].notification?.id ?? "")
  }
}

/// Header fields of a request. Only the values of the notification change between requests.
final class RequestHead {
  let fields: UnsafeMutablePointer<nghttp2_nv>
  private let authority: UnsafeBufferPointer<UInt8>
  private let authorization: UnsafeBufferPointer<UInt8>
  private static let capacity = 11
  private static let pathPrefix = Array("/3/device/".utf8)
  /// Whether an earlier request has added the names of the unindexed values to HPACK's table.
  private var areNamesIndexed = false

  init(authority: String, providerToken: String) {
    self.authority = Self.copy(authority)
    authorization = Self.copy("bearer \(providerToken)")
    fields = .allocate(capacity: Self.capacity)
    let fixed: [(Int, StaticString, StaticString)] = [
      (0, ":method", "POST"), (1, ":scheme", "https"), (5, "apns-push-type", "alert"),
    ]
    for (index, name, value) in fixed {
      fields[index] = Self.field(
        name, value.utf8Start, value.utf8CodeUnitCount, isIndexed: true)
    }
    put(2, ":authority", self.authority, isIndexed: true)
    put(4, "authorization", authorization)
  }

  deinit {
    fields.deallocate()
    authority.deallocate()
    authorization.deallocate()
  }

  /// Writes the values of `notification` into `text`, and points ``fields`` at them.
  ///
  /// - Returns: the number of fields.
  func fill(_ notification: APNsNotification, _ text: UnsafeMutableBufferPointer<UInt8>) -> Int {
    var values = Values(memory: text)
    let prefix = values.append(Self.pathPrefix.span)
    let token = values.append(notification.token.text.utf8.span)
    let path = UnsafeBufferPointer(
      start: prefix.baseAddress, count: prefix.count + token.count)
    // The values of each notification would push the fixed ones out of HPACK's table. Only the
    // first request adds them, so that later requests can refer to their names.
    let isFirst = !areNamesIndexed
    areNamesIndexed = true
    put(3, ":path", path)
    put(6, "apns-topic", values.append(notification.topic.utf8.span), isIndexed: true)
    put(7, "apns-priority", notification.priority.text, isIndexed: true)
    put(
      8, "apns-expiration", values.append("\(notification.expiration)".utf8.span),
      isIndexed: isFirst)
    put(9, "apns-id", values.append(notification.id.utf8.span), isIndexed: isFirst)
    guard let collapseID = notification.collapseID else { return 10 }
    put(10, "apns-collapse-id", values.append(collapseID.utf8.span), isIndexed: isFirst)
    return 11
  }

  private func put(
    _ index: Int, _ name: StaticString, _ value: UnsafeBufferPointer<UInt8>,
    isIndexed: Bool = false
  ) {
    fields[index] = Self.field(
      name, value.baseAddress!, value.count, isIndexed: isIndexed)
  }

  private static func field(
    _ name: StaticString, _ value: UnsafePointer<UInt8>, _ size: Int, isIndexed: Bool
  ) -> nghttp2_nv {
    let noCopy = NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue
    let index = isIndexed ? 0 : NGHTTP2_NV_FLAG_NO_INDEX.rawValue
    return nghttp2_nv(
      name: UnsafeMutablePointer(mutating: name.utf8Start),
      value: UnsafeMutablePointer(mutating: value), namelen: name.utf8CodeUnitCount, valuelen: size,
      flags: UInt8(noCopy | index))
  }

  private static func copy(_ text: String) -> UnsafeBufferPointer<UInt8> {
    var text = text
    return text.withUTF8 { bytes in
      let copy = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: bytes.count)
      _ = copy.initialize(fromContentsOf: bytes)
      return UnsafeBufferPointer(copy)
    }
  }
}

/// The values of a request's fields, one after the other in the memory of its slot.
private struct Values {
  let memory: UnsafeMutableBufferPointer<UInt8>
  var size = 0

  mutating func append(_ value: Span<UInt8>) -> UnsafeBufferPointer<UInt8> {
    precondition(value.count <= memory.count - size, "more than a notification has")
    let start = memory.baseAddress! + size
    value.withUnsafeBufferPointer { _ = memcpy(start, $0.baseAddress!, $0.count) }
    size += value.count
    return UnsafeBufferPointer(start: start, count: value.count)
  }
}

extension APNsNotification.Priority {
  fileprivate var text: UnsafeBufferPointer<UInt8> {
    let text: StaticString =
      switch self {
      case .immediate: "10"
      case .considerate: "5"
      case .lowest: "1"
      }
    return UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
  }
}
