import CQRCode

/// A QR code symbol (ISO/IEC 18004) with error correction level M.
package struct QRSymbol: Sendable {
  package enum Failure: Error {
    /// The content has more than 2,331 bytes, the capacity of a symbol.
    case tooLong
  }

  /// The number of light modules on each side.
  static let quietZone = 4

  /// The number of modules per side, without the quiet zone.
  package let width: Int
  /// The modules row by row; true means dark.
  private let modules: [Bool]

  /// - Parameter content: Must not be empty.
  ///
  /// The corresponding C function is `QRcode_encodeData`.
  package init(_ content: [UInt8]) throws(Failure) {
    guard let code = QRcode_encodeData(Int32(content.count), content, 0, QR_ECLEVEL_M) else {
      throw .tooLong
    }
    defer { QRcode_free(code) }
    width = Int(code.pointee.width)
    modules = UnsafeBufferPointer(start: code.pointee.data, count: width * width).map {
      $0 & 1 == 1
    }
  }

  /// Whether the module is dark; modules outside the symbol are light.
  package func isDark(_ column: Int, _ row: Int) -> Bool {
    (0..<width).contains(column) && (0..<width).contains(row) && modules[row * width + column]
  }

  /// A picture with `size` pixels per side, but at least one pixel per module.
  ///
  /// Each module is a square of whole pixels; the remaining pixels widen the quiet zone.
  /// The corresponding C function is `png_image_write_to_memory`.
  package func png(size: Int) -> [UInt8] {
    let whole = width + 2 * Self.quietZone
    let size = max(size, whole)
    let scale = size / whole
    let margin = (size - width * scale) / 2
    var pixels = [UInt8](repeating: 0xff, count: size * size)
    for row in 0..<width {
      for column in 0..<width where isDark(column, row) {
        for y in 0..<scale {
          let start = (margin + row * scale + y) * size + margin + column * scale
          for x in start..<(start + scale) { pixels[x] = 0 }
        }
      }
    }
    return Self.png(pixels, size: size)
  }

  private static func png(_ pixels: [UInt8], size: Int) -> [UInt8] {
    var image = png_image()
    image.version = png_uint_32(PNG_IMAGE_VERSION)
    image.width = png_uint_32(size)
    image.height = png_uint_32(size)
    image.format = png_uint_32(PNG_FORMAT_GRAY)
    // Enough for the uncompressed rows, a filter byte each, and the overhead of compression and chunks.
    let capacity = size * (size + 1) * 11 / 10 + 1024
    return [UInt8](unsafeUninitializedCapacity: capacity) { file, count in
      var written = png_alloc_size_t(capacity)
      let isDone = png_image_write_to_memory(
        &image, file.baseAddress, &written, 0, pixels, Int32(size), nil)
      precondition(isDone != 0, "libpng cannot write a picture")
      count = Int(written)
    }
  }

  /// The symbol for a terminal: two rows of modules per line, dark on light in any color scheme.
  package var terminalText: String {
    let range = -Self.quietZone..<(width + Self.quietZone)
    var text = ""
    for row in stride(from: range.lowerBound, to: range.upperBound, by: 2) {
      text += "\u{1b}[38;5;16;48;5;231m"  // black on white
      for column in range {
        switch (isDark(column, row), isDark(column, row + 1)) {
        case (false, false): text += " "
        case (true, false): text += "▀"
        case (false, true): text += "▄"
        case (true, true): text += "█"
        }
      }
      text += "\u{1b}[0m\n"
    }
    return text
  }
}
