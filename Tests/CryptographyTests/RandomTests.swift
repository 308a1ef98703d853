import Cryptography
import Testing

@Suite struct RandomTests {
  @Test(arguments: [0, 1, 16, 1000])
  func theRequestedNumberOfBytesIsReturned(count: Int) {
    #expect(randomBytes(count).count == count)
  }

  @Test func randomBytesDoNotRepeat() {
    let values = (0..<1000).map { _ in randomBytes(16) }
    #expect(Set(values).count == values.count)
  }

  @Test func uuidsHaveTheFormOfVersion7() {
    let form = #/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/#
    for _ in 0..<1000 {
      let uuid = timeOrderedUUID(milliseconds: 1_790_000_000_000)
      #expect(uuid.wholeMatch(of: form) != nil, "\(uuid)")
    }
  }

  /// One time is from the example in RFC 9562, appendix A.6.
  @Test(arguments: [
    (0, "00000000-0000-7"), (0x017F_22E2_79B0, "017f22e2-79b0-7"),
    (1 << 48 - 1, "ffffffff-ffff-7"),
  ])
  func uuidsBeginWithTheirTime(milliseconds: Int64, start: String) {
    #expect(timeOrderedUUID(milliseconds: milliseconds).hasPrefix(start))
  }

  @Test func uuidsSortByTime() {
    let times = (0..<48).map { Int64(1) << $0 } + [1_790_000_000_000, 1_790_000_000_001]
    let uuids = times.sorted().map { timeOrderedUUID(milliseconds: $0) }
    #expect(uuids == uuids.sorted())
  }

  @Test func uuidsOfOneMillisecondDiffer() {
    let uuids = (0..<1000).map { _ in timeOrderedUUID(milliseconds: 1) }
    #expect(Set(uuids).count == uuids.count)
  }

  @Test func timesOutOfRangeStopTheProgram() async {
    await #expect(processExitsWith: .failure) { _ = timeOrderedUUID(milliseconds: -1) }
    await #expect(processExitsWith: .failure) { _ = timeOrderedUUID(milliseconds: 1 << 48) }
  }
}
