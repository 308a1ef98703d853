import Base
import Cryptography
import Store

/// The lifetime of a mailed code and its challenge.
private let codeLifetime = Duration.seconds(300)

extension Context {
  /// Signs in with a mailed code, whose MAC any of our keys may have made.
  func signIn(
    withCode code: String, of name: LoginCodeName, on device: SigningDevice, bearer: Caller?
  ) throws -> SignInOutcome {
    try records.loginCodes.signIn(with: name, on: device, bearer: bearer) { email in
      macs(ofCode: code, for: email, on: device)
    }
  }

  /// The MACs of a typed code, one for each of our keys.
  func macs(ofCode code: String, for email: String, on device: SigningDevice) -> [[UInt8]] {
    settings.hmacKeys.keys.map { key in
      mac(ofCode: code, for: email, on: device.clientDeviceID, under: key)
    }
  }

  /// Makes a new code of six digits: its MAC for the database, and the code itself for the mail.
  func makeCode(
    for email: String, on clientDeviceID: String, challenge: String
  ) -> NewLoginCode {
    let digits = makeDigits()
    return NewLoginCode(
      email: email, challengeHash: sha256(challenge),
      codeMAC: mac(
        ofCode: digits, for: email, on: clientDeviceID, under: settings.hmacKeys.newest),
      mailID: timeOrderedUUID(milliseconds: now.milliseconds), digits: digits,
      expiresAt: now + codeLifetime)
  }

  /// Returns six random decimal digits, uniformly distributed.
  private func makeDigits() -> String {
    while true {
      let number = random(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
      guard number < 4_294_000_000 else { continue }
      let digits = String(number % 1_000_000)
      return String(repeating: "0", count: 6 - digits.count) + digits
    }
  }
}

private func mac(
  ofCode code: String, for email: String, on clientDeviceID: String, under key: Key
) -> [UInt8] {
  hmacSHA256("login code\n\(email)\n\(clientDeviceID)\n\(code)", with: key)
}
