/// A currency that people pay with (ISO 4217, list one). Funds, metals and test codes are not.
package struct Currency: Sendable, Equatable {
  /// Three capital letters.
  package let code: String
  /// The decimals of its smallest amount (ISO 4217: minor unit).
  package let digits: Int

  /// - Returns: nil unless `code` is such a currency.
  package init?(code: String) {
    // The count: Swift takes a letter for equal to another one of Unicode that looks the same.
    guard code.utf8.count == 3, let digits = Self.digits[code] else { return nil }
    self.code = code
    self.digits = digits
  }

  /// The currency of a row. Payments of version 1 took any three letters, and two decimals in each currency.
  ///
  /// - Parameter decimals: the decimals of the amount.
  init(column code: String, decimals: Int) {
    self.code = code
    digits = max(Self.digits[code] ?? 2, decimals)
  }

  private static let digits = Dictionary(
    uniqueKeysWithValues: [
      (0, "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF"),
      (
        2,
        """
        AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CNY COP CRC CUP \
        CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES \
        KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK \
        NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB \
        TJS TMT TOP TRY TTD TWD TZS UAH USD UYU UZS VED VES WST XCD XCG YER ZAR ZMW ZWG
        """
      ),
      (3, "BHD IQD JOD KWD LYD OMR TND"),
    ].flatMap { digits, codes in codes.split(separator: " ").map { (String($0), digits) } })
}
