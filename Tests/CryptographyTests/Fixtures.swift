import Cryptography

/// Entries of a keyring. The known answers depend on their secrets: the bytes 0 to 31 and 100 to
/// 139.
let olderEntry = "2026-11:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
let newerEntry = "next_KEY:ZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXp7fH1-f4CBgoOEhYaHiImKiw"

func makeKey(_ id: String = "test", secret: [UInt8]) throws -> Key {
  try Key(id: id, secret: Secret(copying: secret.span))
}

/// The texts that differ from `text` in one bit of their UTF-8 form.
func bitFlips(of text: String) -> [String] {
  let bytes = Array(text.utf8)
  return bytes.indices.flatMap { index in
    (0..<8).map { bit in
      var flipped = bytes
      flipped[index] ^= 1 << bit
      return String(decoding: flipped, as: UTF8.self)
    }
  }
}
