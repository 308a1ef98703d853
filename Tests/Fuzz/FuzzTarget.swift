import Glibc

/// A parser of bytes from strangers, as libFuzzer calls it.
struct FuzzTarget: Sendable {
  let name: String
  /// The largest input in bytes, enough for each limit of the parser that inputs can reach in time.
  let maximumSize: Int
  /// Calls the parser as the program does, and ends the process if the result is wrong.
  let test: @Sendable ([UInt8]) -> Void

  init(_ name: String, atMost maximumSize: Int, _ test: @escaping @Sendable ([UInt8]) -> Void) {
    self.name = name
    self.maximumSize = maximumSize
    self.test = test
  }

  static let all: [FuzzTarget] =
    ofFastCGI + ofHTTP + ofJSON + ofCryptography + ofPasskeys + ofTokens + ofRequests + ofRelay
    + ofAnswers + ofHTTP2 + ofTexts

  /// The target that `FUZZ_TARGET` names; nil if it is unknown.
  static let chosen = getenv("FUZZ_TARGET").flatMap { name in
    all.first { $0.name == String(cString: name) }
  }
}

extension FuzzTarget {
  /// No input may take more of the processor.
  private static let timeLimit = 0.1

  // libFuzzer uses one thread.
  nonisolated(unsafe) private static var slowest = 0.0
  nonisolated(unsafe) private static var runs = 0

  /// Runs the chosen target on one input.
  static let run: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt = { bytes, count in
    let input = Array(UnsafeBufferPointer(start: bytes, count: count))
    var time = timeTaken(by: input)
    runs += 1
    // The first run also initializes what the program initializes at its start.
    guard runs > 1 else { return 0 }
    // A virtual machine may count time that others took. A slow input is slow again.
    if time > timeLimit { time = min(timeTaken(by: input), timeTaken(by: input)) }
    slowest = max(slowest, time)
    require(time <= timeLimit, "the input took \(time) s of the processor")
    return 0
  }

  static func reportSlowest() {
    print("slowest input: \(Int(slowest * 1_000_000)) µs")
  }

  /// Seconds of the processor.
  private static func timeTaken(by input: [UInt8]) -> Double {
    let begin = processorTime()
    chosen!.test(input)
    return processorTime() - begin
  }

  private static func processorTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}

/// Ends the process, so that libFuzzer keeps the input, unless `isTrue`.
func require(_ isTrue: Bool, _ problem: @autoclosure () -> String) {
  if !isTrue { fatalError(problem()) }
}

extension [UInt8] {
  /// The parts of at most `size` bytes.
  func pieces(of size: Int) -> [[UInt8]] {
    stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min(count, $0 + size)]) }
  }

  var text: String { String(decoding: self, as: UTF8.self) }
}
