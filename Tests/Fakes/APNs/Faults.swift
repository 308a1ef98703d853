import ArgumentParser

/// The faults, and the requests that they hit. Requests are counted from 1 over all connections.
struct Faults {
  static let grammar = """
    `answer every N STATUS REASON [TIMESTAMP]`, `answer token TOKEN STATUS REASON [TIMESTAMP]`, \
    `goaway every N`, `drop every N`, `refuse every N`, `streams MAX`, `streams MAX after N`, `streams \
    flap every N`, `silent after N`, `deaf after N`, `late MILLISECONDS every N`, `mute every N`, `half-frame after N`, `body SIZE every \
    N`, `headers SIZE every N`, `pings COUNT every N`, `connections MAX`, `lasting MAX`, `alpn \
    http/1.1`, `tls none`.
    """

  struct Answer: Equatable {
    let status: Int
    let reason: String
    /// Unix milliseconds.
    let timestamp: Int64?
  }

  private(set) var answerEvery: [(Int, Answer)] = []
  private(set) var answerTo: [String: Answer] = [:]
  private(set) var goawayEvery: Int?
  private(set) var dropEvery: Int?
  private(set) var refuseEvery: Int?
  /// MAX_CONCURRENT_STREAMS from the start.
  private(set) var streams: UInt32 = 1000
  /// The new limit, by the number of the request after which it applies.
  private(set) var streamsAfter: [Int: UInt32] = [:]
  private(set) var flapEvery: Int?
  private(set) var silentAfter: Int?
  /// The request after whose answer its connection answers nothing, as one that died silently.
  private(set) var deafAfter: Int?
  /// The last whose turn it is counts.
  private(set) var late: [(milliseconds: Int, every: Int)] = []
  /// Requests that get no answer.
  private(set) var muteEvery: Int?
  private(set) var halfFrameAfter: Int?
  private(set) var body: (size: Int, every: Int)?
  private(set) var headers: (size: Int, every: Int)?
  private(set) var pings: (count: Int, every: Int)?
  /// The connections that it takes in all; it closes further ones.
  private(set) var connections = Int.max
  /// The connections that last; further ones end after their first answer.
  private(set) var lasting = Int.max
  private(set) var offersHTTP2 = true
  private(set) var speaksTLS = true

  /// - Parameter lines: empty lines and lines that begin with `#` are ignored.
  init(_ lines: [String]) throws {
    for line in lines where !line.isEmpty && !line.hasPrefix("#") {
      guard add(line.split(separator: " ").map(String.init)) else {
        throw ValidationError("not a fault: \(line)")
      }
    }
  }

  private mutating func add(_ words: [String]) -> Bool {
    let numbers = words.map { Int($0) }
    func number(_ index: Int) -> Int? { index < numbers.count ? numbers[index] : nil }
    switch (words.first, words.dropFirst().first) {
    case ("answer", "every"): return addAnswer(words, number(2))
    case ("answer", "token"): return addAnswer(words, nil)
    case ("goaway", "every"): goawayEvery = number(2)
    case ("drop", "every"): dropEvery = number(2)
    case ("refuse", "every"): refuseEvery = number(2)
    case ("mute", "every"): muteEvery = number(2)
    case ("streams", "flap"): flapEvery = number(3)
    case ("streams", _):
      guard let limit = number(1) else { return false }
      guard let after = number(3) else {
        streams = UInt32(limit)
        return true
      }
      streamsAfter[after] = UInt32(limit)
    case ("silent", "after"): silentAfter = number(2)
    case ("deaf", "after"): deafAfter = number(2)
    case ("connections", _): connections = number(1) ?? .max
    case ("lasting", _): lasting = number(1) ?? .max
    case ("half-frame", "after"): halfFrameAfter = number(2)
    case ("alpn", "http/1.1"): offersHTTP2 = false
    case ("tls", "none"): speaksTLS = false
    default: return addSized(words, number(1), number(3))
    }
    return !numbers.dropFirst().allSatisfy { $0 == nil } || words[0] == "alpn" || words[0] == "tls"
  }

  private mutating func addAnswer(_ words: [String], _ every: Int?) -> Bool {
    guard words.count >= 5, let status = Int(words[3]) else { return false }
    let answer = Answer(
      status: status, reason: words[4], timestamp: words.count > 5 ? Int64(words[5]) : nil)
    if let every { answerEvery.append((every, answer)) } else { answerTo[words[2]] = answer }
    return true
  }

  private mutating func addSized(_ words: [String], _ size: Int?, _ every: Int?) -> Bool {
    guard let size, let every else { return false }
    switch words[0] {
    case "late": late.append((size, every))
    case "body": body = (size, every)
    case "headers": headers = (size, every)
    case "pings": pings = (size, every)
    default: return false
    }
    return true
  }

  /// The answer to request `number` with `token`, independent of the content of the request.
  func answer(_ number: Int, token: String) -> Answer? {
    if let answer = answerTo.isEmpty ? nil : answerTo[token] { return answer }
    return answerEvery.first { number % $0.0 == 0 }?.1
  }
}

extension Int {
  /// Whether it is this number's turn.
  func isTurn(_ every: Int?) -> Bool { every.map { self % $0 == 0 } ?? false }
}
