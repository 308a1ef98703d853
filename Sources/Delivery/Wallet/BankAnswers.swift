import Base
import Cryptography
import Store

/// What a bank's token endpoint says (RFC 6749 §5.1, §5.2).
struct TokenAnswer {
  private var accessToken: String?
  private var tokenType: String?
  private var idToken: String?
  /// A word of lower-case letters and `_`.
  private(set) var error: String?

  init(json: [UInt8]) throws(BankFailure) {
    do {
      var reader = JSONReader(json)
      try reader.object { name, value in
        switch name {
        case "access_token": accessToken = try value.string()
        case "token_type": tokenType = try value.string()
        case "id_token": idToken = try value.string()
        case "error": error = try value.string()
        default: try value.skip()
        }
      }
      try reader.end()
    } catch {
      throw .unavailable("what the token endpoint says cannot be read")
    }
    error = error.flatMap { word in
      let isWord = word.utf8.allSatisfy { $0 == 0x5f || 0x61...0x7a ~= $0 }
      return isWord && word.utf8.count <= 40 ? word : nil
    }
  }

  /// The access token, which can stand in a field (RFC 6750 §2.1).
  ///
  /// Where an `id_token` came along, its nonce is the one of this enrolment. It came from the bank itself,
  /// so its signature says no more than the connection does (OpenID Connect Core §3.1.3.7).
  func accessToken(nonceHash: [UInt8]) throws(BankFailure) -> String {
    guard let accessToken, 1...8192 ~= accessToken.utf8.count,
      accessToken.utf8.allSatisfy({ 0x21...0x7e ~= $0 }),
      tokenType.map({ $0.lowercased() == "bearer" }) ?? true
    else { throw .unavailable("the token endpoint gave no bearer token") }
    guard let idToken else { return accessToken }
    guard let nonce = Self.nonce(in: idToken), isEqualInConstantTime(sha256(nonce), nonceHash)
    else {
      throw .refused("the id_token is of another enrolment")
    }
    return accessToken
  }

  private static func nonce(in idToken: String) -> String? {
    let parts = idToken.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let payload = base64URLDecoded(String(parts[1])) else { return nil }
    var nonce: String?
    do {
      var reader = JSONReader(payload)
      try reader.object { name, value in
        if name == "nonce" { nonce = try value.string() } else { try value.skip() }
      }
      try reader.end()
      return nonce
    } catch {
      return nil
    }
  }
}

extension BankCard {
  /// At most so many of one person at one bank.
  private static let most = 100

  /// The cards in `{"cards":[{id, lastFour, cardType, expiryMonth, expiryYear}]}`: all of them as they
  /// must be, or none.
  static func list(json: [UInt8]) throws(BankFailure) -> [BankCard] {
    var cards: [BankCard]?
    do {
      var reader = JSONReader(json)
      try reader.object { name, value in
        guard name == "cards" else { return try value.skip() }
        var list: [BankCard] = []
        try value.array { element in
          guard list.count < most else { throw JSONReader.Failure.malformed }
          list.append(try BankCard(reading: &element))
        }
        cards = list
      }
      try reader.end()
    } catch {
      throw .unavailable("the cards cannot be read")
    }
    guard let cards, Set(cards.map(\.id)).count == cards.count else {
      throw .unavailable("the cards cannot be read")
    }
    return cards
  }

  private init(reading reader: inout JSONReader) throws {
    var (id, lastFour, cardType) = ("", "", "")
    var (expiryMonth, expiryYear): (Int64, Int64) = (0, 0)
    try reader.object { name, value in
      switch name {
      case "id": id = try value.string()
      case "lastFour": lastFour = try value.string()
      case "cardType": cardType = try value.string().uppercased()
      case "expiryMonth": expiryMonth = try value.integer()
      case "expiryYear": expiryYear = try value.integer()
      default: try value.skip()
      }
    }
    let isRight =
      1...128 ~= id.unicodeScalars.count && !id.hasControls
      && lastFour.utf8.count == 4 && lastFour.utf8.allSatisfy { 0x30...0x39 ~= $0 }
      && 1...20 ~= cardType.utf8.count && cardType.utf8.allSatisfy(Self.isOfType)
      && 1...12 ~= expiryMonth && 2000...2199 ~= expiryYear
    guard isRight else { throw JSONReader.Failure.wrongType }
    self.init(
      id: id, lastFour: lastFour, cardType: cardType, expiryMonth: expiryMonth,
      expiryYear: expiryYear)
  }

  /// Capitals, digits, space, `-` and `_`.
  private static func isOfType(_ byte: UInt8) -> Bool {
    0x41...0x5a ~= byte || 0x30...0x39 ~= byte || byte == 0x20 || byte == 0x2d || byte == 0x5f
  }
}
