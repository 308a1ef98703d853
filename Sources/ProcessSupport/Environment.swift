import Base
import Glibc

/// Reads a program's settings from environment variables and collects a complaint about each error.
///
/// `NAME_FILE` may replace each variable `NAME`: it holds the path of a file whose content, without one
/// final line end, is the value.
package struct Environment {
  private let variables: [String: String]
  /// One sentence for each missing or malformed variable.
  package private(set) var complaints: [String] = []

  package init(_ variables: [String: String]) {
    self.variables = variables
  }

  /// The process's own environment (`environ`).
  package static func ofProcess() -> Environment {
    var variables: [String: String] = [:]
    var entry = environ
    while let text = entry.pointee {
      let pair = String(cString: text)
      if let mark = pair.utf8.firstIndex(of: UInt8(ascii: "=")) {
        variables[String(pair[..<mark])] = String(pair[mark...].dropFirst())
      }
      entry += 1
    }
    return Environment(variables)
  }

  /// The value of `name` or of the file in `NAME_FILE`; nil if it is missing or empty.
  package mutating func optional(_ name: String) -> String? {
    if let value = variables[name], !value.isEmpty { return value }
    guard let path = variables[name + "_FILE"], !path.isEmpty else { return nil }
    guard let content = Self.content(ofFile: path) else {
      complaints.append("\(name)_FILE: \(path) cannot be read as text.")
      return nil
    }
    let value = content.hasSuffix("\n") ? String(content.dropLast()) : content
    return value.isEmpty ? nil : value
  }

  /// The value of `name`. If it is missing, adds a complaint and returns an empty string.
  package mutating func required(_ name: String, _ meaning: String) -> String {
    let before = complaints.count
    if let value = optional(name) { return value }
    if complaints.count == before {
      complaints.append("\(name) is missing (or \(name)_FILE): \(meaning).")
    }
    return ""
  }

  /// The text of the file whose path is the value of `name`; nil if `name` is missing or the file is unreadable.
  package mutating func contentOfFile(namedBy name: String) -> String? {
    guard let path = optional(name) else { return nil }
    let content = Self.content(ofFile: path)
    if content == nil { complaints.append("\(name): \(path) cannot be read as text.") }
    return content
  }

  package mutating func integer(
    _ name: String, in range: ClosedRange<Int>, default fallback: Int
  ) -> Int {
    guard let text = optional(name) else { return fallback }
    guard let value = Int(text), range.contains(value) else {
      complain(
        about: name, "must be a whole number from \(range.lowerBound) to \(range.upperBound)")
      return fallback
    }
    return value
  }

  /// The value of `name`, which must be `true`, `1`, `false` or `0`.
  package mutating func flag(_ name: String, default fallback: Bool) -> Bool {
    switch optional(name)?.lowercased() {
    case nil: return fallback
    case "true", "1": return true
    case "false", "0": return false
    default:
      complain(about: name, "must be true, 1, false or 0")
      return fallback
    }
  }

  /// The main address under which the apps reach the site, without a final slash.
  package mutating func publicURL() -> String? { publicURLs()?.first }

  /// The addresses under which the apps reach the site, without a final slash. The first is the main address.
  package mutating func publicURLs() -> [String]? {
    value(
      "SWITCHBOARD_PUBLIC_URL", "the address under which the apps reach this site",
      "must be an http or https address without a final slash, or several, separated by commas; \(Self.pathRule)"
    ) { text in
      let urls = text.split(separator: ",", omittingEmptySubsequences: false).map {
        String($0).trimmed
      }
      return urls.allSatisfy(Self.isPublicURL) ? urls : nil
    }
  }

  /// Like ``publicURL()``, for a program that can run without an address.
  package mutating func optionalPublicURL() -> String? {
    optional("SWITCHBOARD_PUBLIC_URL") == nil ? nil : publicURL()
  }

  private static let pathRule = "a path in it may have letters, digits and . _ ~ - only"

  private static func isPublicURL(_ text: String) -> Bool {
    guard text.hasPrefix("https://") || text.hasPrefix("http://"), !text.hasSuffix("/") else {
      return false
    }
    guard let path = WebURL(text)?.rest else { return true }  // its readers check the host
    // Pages use it without escapes.
    return path.utf8.allSatisfy { $0.isAlphanumeric || "._~/-".utf8.contains($0) }
  }

  /// The case of `Choice` whose raw value is the value of `name`.
  package mutating func choice<Choice: CaseIterable & RawRepresentable>(
    _ name: String, default fallback: Choice
  ) -> Choice where Choice.RawValue == String {
    guard let text = optional(name) else { return fallback }
    guard let value = Choice(rawValue: text) else {
      let words = Choice.allCases.map(\.rawValue).joined(separator: ", ")
      complain(about: name, "must be one of \(words)")
      return fallback
    }
    return value
  }

  /// The result of `parse` for the value of `name`. If it is nil, adds a complaint that states `rule`.
  package mutating func value<Value>(
    _ name: String, _ meaning: String, _ rule: String, _ parse: (String) -> Value?
  ) -> Value? {
    let text = required(name, meaning)
    if text.isEmpty { return nil }
    if let value = parse(text) { return value }
    complain(about: name, rule)
    return nil
  }

  /// Complains about `name` without repeating its value, which may be a secret.
  package mutating func complain(about name: String, _ rule: String) {
    complaints.append("\(name) \(rule).")
  }

  /// The text of a file; nil if the file cannot be read or is not UTF-8.
  package static func content(ofFile path: String) -> String? {
    guard let file = fopen(path, "re") else { return nil }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while case let count = fread(&buffer, 1, buffer.count, file), count > 0 {
      bytes += buffer[..<count]
    }
    return ferror(file) == 0 ? String(validating: bytes, as: UTF8.self) : nil
  }
}

/// All errors of the environment. The program prints them once and ends.
package struct ConfigurationError: Error, CustomStringConvertible {
  package let complaints: [String]

  package init(_ complaints: [String]) {
    self.complaints = complaints
  }

  package var description: String {
    (["The configuration is not complete:"] + complaints.map { "  " + $0 }).joined(separator: "\n")
  }
}
