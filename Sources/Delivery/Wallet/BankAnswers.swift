import Base
import Cryptography
import Store

/// Answer of a bank's token endpoint (RFC 6749 §5.1, §5.2).
struct TokenAnswer {
  private var accessToken: String?
  private var tokenType: String?
  private var idToken: String?
  private(set) var error: OAuthError?

  init(json: [UInt8]) throws(BankFailure) {
    do {
      var reader = JSONReader(json)
      try reader.object { name, value in
        switch name {
        case "access_token": accessToken = try value.string()
        case "token_type": tokenType = try value.string()
        case "id_token": idToken = try value.string()
        case "error": error = OAuthError(rawValue: try value.string())
        default: try value.skip()
        }
      }
      try reader.end()
    } catch {
      throw .bankUnavailable("the answer of the token endpoint cannot be read")
    }
  }

  /// The access token. It is safe in a header field (RFC 6750 §2.1).
  ///
  /// If there is an `id_token`, its nonce must belong to this enrollment. Its signature is not
  /// verified, because it came over TLS from the bank itself (OpenID Connect Core §3.1.3.7).
  func accessToken(nonceHash: [UInt8]) throws(BankFailure) -> String {
    guard let accessToken, accessToken.isVisibleASCII(atMost: 8192),
      tokenType.map({ $0.lowercased() == "bearer" }) ?? true
    else { throw .bankUnavailable("the token endpoint gave no bearer token") }
    guard let idToken else { return accessToken }
    guard let nonce = Self.nonce(in: idToken), isEqualInConstantTime(sha256(nonce), nonceHash)
    else { throw .bankRefused("the id_token is of another enrollment") }
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
  /// Maximum number of cards of a person at a bank.
  private static let maximumCount = 100

  /// Reads `{"cards":[{id, lastFour, cardType, expiryMonth, expiryYear}]}`. One malformed card
  /// makes the whole list unreadable.
  static func list(json: [UInt8]) throws(BankFailure) -> [BankCard] {
    var cards: [BankCard]?
    do {
      var reader = JSONReader(json)
      try reader.object { name, value in
        guard name == "cards" else { return try value.skip() }
        var list: [BankCard] = []
        try value.array { element in
          guard list.count < maximumCount else { throw JSONReader.Failure.malformed }
          list.append(try BankCard(reading: &element))
        }
        cards = list
      }
      try reader.end()
    } catch {
      throw .bankUnavailable("the cards cannot be read")
    }
    guard let cards, Set(cards.map(\.id)).count == cards.count else {
      throw .bankUnavailable("the cards cannot be read")
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
    let isValid =
      (1...128).contains(id.unicodeScalars.count) && !id.hasControls
      && lastFour.utf8.count == 4 && lastFour.utf8.allSatisfy(\.isDigit)
      && (1...20).contains(cardType.utf8.count) && cardType.utf8.allSatisfy(Self.mayBeInType)
      && (1...12).contains(expiryMonth) && (2000...2199).contains(expiryYear)
    guard isValid else { throw JSONReader.Failure.wrongType }
    self.init(
      id: id, lastFour: lastFour, cardType: cardType, expiryMonth: expiryMonth,
      expiryYear: expiryYear)
  }

  /// True for capitals, digits, space, `-` and `_`.
  private static func mayBeInType(_ byte: UInt8) -> Bool {
    byte.isUppercaseLetter || byte.isDigit || " -_".utf8.contains(byte)
  }
}
