import HTTP
import Support

/// A random request of a web server, and the answer that belongs to it.
struct SimulatedRequest: Sendable {
  let number: Int
  /// The FastCGI request id.
  let id: UInt16
  let octets: [UInt8]
  /// Octets that the server must have before it answers.
  let neededCount: Int
  /// Whether the web server wants to keep the connection.
  let isKept: Bool
  /// Why the server must not answer; nil if it must.
  let defect: String?

  private let method: String
  private let isAuthorization: Bool
  private let path: String
  private let longValue: String
  private let body: [UInt8]
  private let bodyDefect: Request.Defect?
  private let answerLength: Int

  static let bodyLimit = 1000
  /// The sum of all records of a body over which the server reads no more.
  private static let drainLimit = 1 << 20

  /// Octets for bodies, values and answers: their parts differ.
  private static let noise: [UInt8] = {
    var chance = SeededGenerator(state: 0)
    let part: [UInt8] = (0..<5_003).map { _ in .random(in: 97...122, using: &chance) }
    return (0..<240).reduce(into: []) { all, _ in all += part }
  }()

  private static func noise(_ count: Int, from place: Int) -> ArraySlice<UInt8> {
    noise[(place % 1000)...].prefix(count)
  }

  init(_ number: Int, _ chance: inout SeededGenerator) {
    var records = SimulatedRecords(id: .random(in: 1...65_535, using: &chance))
    isAuthorization = Int.random(in: 0..<8, using: &chance) == 0
    let methods = isAuthorization ? ["GET"] : ["GET", "GET", "HEAD", "POST", "PUT"]
    let method = methods.randomElement(using: &chance)!
    isKept = Int.random(in: 0..<3, using: &chance) > 0
    path = Int.random(in: 0..<10, using: &chance) == 0 ? "/wait" : "/\(number)"
    let longLength = Self.length([0, 1, 126, 127, 128, 129, 5_000], rare: 40_000, &chance)
    longValue = String(decoding: Self.noise(longLength, from: number), as: UTF8.self)
    let hasBody = method == "POST" || method == "PUT"
    let sent = hasBody ? Array(Self.noise(Self.bodyLength(&chance), from: number)) : []
    let length = BodyLength(of: sent.count, &chance)
    bodyDefect = isAuthorization ? nil : length.defect
    body = length.defect == nil ? sent : []

    let lacksMethod = Int.random(in: 0..<100, using: &chance) == 0
    var parameters = [
      ("SCRIPT_NAME", path), ("REQUEST_URI", path), ("HTTP_NUMBER", "\(number)"),
      ("HTTP_LONG", longValue), (String(repeating: "N", count: longLength % 999 + 1), "value"),
      ("CONTENT_LENGTH", length.parameter),
    ]
    if length.isChunked { parameters.append(("HTTP_TRANSFER_ENCODING", "chunked")) }
    if !lacksMethod { parameters.append(("REQUEST_METHOD", method)) }
    parameters.shuffle(using: &chance)

    records.begin(keep: isKept, role: isAuthorization ? 2 : 1)
    records.add(.params, parameters.reduce(into: []) { $0 += pair($1.0, $1.1) }, &chance)
    // Some web servers end the body of an authorizer's request too.
    let endsBody = !isAuthorization || !isKept && Bool.random(using: &chance)
    if !isAuthorization { records.add(.stdin, sent, &chance) }
    var defect = lacksMethod ? "no method" : nil
    if sent.count > Self.drainLimit { defect = "a body without end" }
    if Int.random(in: 0..<12, using: &chance) == 0 { defect = records.spoil(&chance) }
    neededCount = records.records.reduce(0) { $0 + $1.count }
    if isAuthorization, endsBody, defect == nil { records.endBody() }

    self.number = number
    self.method = method
    self.defect = defect
    id = records.id
    octets = records.records.reduce(into: [], +=)
    answerLength = Self.length([0, 1, 100, 8_160, 8_192, 20_000, 65_530], rare: 400_000, &chance)
  }

  /// One of the lengths, rarely another one.
  private static func length(
    _ usual: [Int], rare: Int, _ chance: inout SeededGenerator
  ) -> Int {
    Int.random(in: 0..<60, using: &chance) == 0 ? rare : usual.randomElement(using: &chance)!
  }

  private static func bodyLength(_ chance: inout SeededGenerator) -> Int {
    let long = [70_000, 900_000, drainLimit + 1].randomElement(using: &chance)!
    return length([0, 1, 7, 8, 100, 999, 1_000, 1_001, 9_000], rare: long, &chance)
  }

  /// - Returns: the difference between the request and what the server read; nil if there is none.
  func difference(to request: Request) -> String? {
    if let defect { return "\(defect), but it is handled" }
    guard request.isAuthorization == isAuthorization,
      request.method == method, request.path == (isAuthorization ? "/_auth" : path),
      request.field("Long") == longValue
    else { return "\(method) \(path), but \(request.method) \(request.path) is handled" }
    guard request.defect == bodyDefect, request.body == body else {
      return "\(body.count) octets, defect \(String(describing: bodyDefect)), but "
        + "\(request.body.count) octets, defect \(String(describing: request.defect)) are handled"
    }
    return nil
  }

  /// Whether its handler waits.
  var isWait: Bool { path == "/wait" && !isAuthorization }

  var answer: Response {
    Response(status: 200, body: Array(Self.noise(answerLength, from: number &* 7)))
  }

  /// The answer to a request that wants to wait while too many wait.
  static let mayNotWait = Response(status: 503)

  func isAnswer(_ octets: [UInt8]) -> Bool {
    octets == answer.serialized(for: method)
      || isWait && octets == Self.mayNotWait.serialized(for: method)
  }
}

/// The length of a body that a web server announces, usually the right one.
private struct BodyLength {
  let parameter: String
  let isChunked: Bool
  let defect: Request.Defect?

  init(of count: Int, _ chance: inout SeededGenerator) {
    let limit = SimulatedRequest.bodyLimit
    // HTTP/2 has neither chunks nor always a length.
    let isUnknown = count > 0 && Int.random(in: 0..<4, using: &chance) == 0
    isChunked = isUnknown && Bool.random(using: &chance)
    let isWrong = !isUnknown && Int.random(in: 0..<12, using: &chance) == 0
    let said = isWrong ? Int.random(in: 1...1_200, using: &chance) : count
    parameter = isUnknown || said == 0 ? "" : "\(said)"
    defect = said > limit ? .bodyTooLarge : said == count ? nil : .bodyIncomplete
  }
}

/// The records of one request.
struct SimulatedRecords {
  let id: UInt16
  private(set) var records: [[UInt8]] = []
  private var isAuthorization = false
  /// The place of the record that ends the parameters.
  private var endOfParameters = 0

  init(id: UInt16) { self.id = id }

  mutating func begin(keep: Bool, role: UInt8) {
    isAuthorization = role == 2
    records.append(record(.begin, [0, role, keep ? 1 : 0, 0, 0, 0, 0, 0], id: id))
  }

  /// Adds records of random sizes, with random padding, and the record that ends them.
  mutating func add(_ type: RecordType, _ content: [UInt8], _ chance: inout SeededGenerator) {
    let largest = [content.count < 200 ? 1 : 50, 100, 8_192, 65_535].randomElement(using: &chance)!
    let isPadded = Bool.random(using: &chance)
    var rest = content[...]
    while !rest.isEmpty {
      let part = rest.prefix(.random(in: (largest + 1) / 2...largest, using: &chance))
      let padding = isPadded ? Int.random(in: 0...255, using: &chance) : 0
      records.append(record(type, Array(part), id: id, padding: padding))
      rest = rest.dropFirst(part.count)
    }
    records.append(record(type, id: id))
    if type == .params { endOfParameters = records.count - 1 }
  }

  mutating func endBody() { records.append(record(.stdin, id: id)) }

  /// Makes the request malformed.
  ///
  /// - Returns: how.
  mutating func spoil(_ chance: inout SeededGenerator) -> String {
    let any = Int.random(in: 0..<records.count, using: &chance)
    let place = max(1, any)  // before the record that ends the request
    switch Int.random(in: 0..<14, using: &chance) {
    case 0: records[any][0] = 2
    case 1: records[any][3] ^= 0x10
    case 2: records.insert(record(.abort, id: id), at: place)
    case 3: records.insert(records[0], at: place)
    case 4:
      records[0][9] = [0, 3].randomElement(using: &chance)!
    case 5: records[0] = record(.begin, Array(records[0][8...]), id: id, padding: 8)
    case 6: records.insert(record(.params, [5, 0, 65], id: id), at: endOfParameters)
    case 7:
      let lengths: [UInt8] = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]
      records.insert(record(.params, lengths, id: id), at: endOfParameters)
    case 8: records.insert(record(.stdin, id: id), at: 1)
    case 9: for index in records.indices { (records[index][2], records[index][3]) = (0, 0) }
    case 10: records[0] = record(.begin, Array(records[0][8...]) + [0], id: id)
    case 11 where !isAuthorization:
      records.insert(record(.params, [1, 0, 65], id: id), at: endOfParameters + 1)
    case 12: records[endOfParameters] = record(.params, id: id, padding: 8)
    default:
      let long = record(.params, pair("L", String(repeating: "v", count: 65_000)), id: id)
      records.insert(contentsOf: [long, long, long], at: endOfParameters)
    }
    return "a malformed request"
  }
}
