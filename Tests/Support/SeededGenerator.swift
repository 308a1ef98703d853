/// SplitMix64, for the same inputs in every run.
package struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  package init(state: UInt64) {
    self.state = state
  }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return value ^ (value >> 31)
  }

  /// Up to 24 bytes from `symbols`.
  package mutating func text(of symbols: [UInt8]) -> [UInt8] {
    let kinds = Int.random(in: 1...symbols.count, using: &self)
    return (0..<Int.random(in: 0...24, using: &self)).map { _ in
      symbols[Int.random(in: 0..<kinds, using: &self)]
    }
  }

  /// A text of `texts` with one to three changes, or parts of two texts put together.
  package mutating func mutate(_ texts: [String]) -> [UInt8] {
    mutate(bytes: texts.map { Array($0.utf8) })
  }

  package mutating func mutate(bytes genuine: [[UInt8]]) -> [UInt8] {
    let other = genuine.randomElement(using: &self)!
    var bytes = genuine.randomElement(using: &self)!
    for _ in 0..<Int.random(in: 1...3, using: &self) {
      let index = Int.random(in: 0...bytes.count, using: &self)
      switch Int.random(in: 0..<6, using: &self) {
      case 0 where index < bytes.count: bytes[index] = .random(in: 0...255, using: &self)
      case 1 where index < bytes.count: bytes.remove(at: index)
      case 2: bytes.insert(.random(in: 0...255, using: &self), at: index)
      case 3: bytes.removeLast(bytes.count - index)
      case 4: bytes.replaceSubrange(index..., with: other.dropFirst(index))
      default: bytes.insert(contentsOf: other.prefix(index), at: index)
      }
    }
    return bytes
  }
}
