import Cryptography
import Foundation
import Testing

/// Flips each bit of genuine inputs. Only an attestation's receipt may change, because nothing
/// authenticates it.
@Suite struct ForgeryTests {
  @Test(arguments: 0..<8)
  func attestationsWithABitFlippedOutsideTheReceiptAreRefused(_ bit: Int) throws {
    let vector = try AppAttestVector.named("uebelack-2024-production")
    let genuine = try vector.attest().get()
    let object = try #require(vector.attestation?.attestationObject.bytes)
    let start = try #require(object.indices.first { object[$0...].starts(with: genuine.receipt) })
    let receipt = start..<(start + genuine.receipt.count)
    // Verifying may take two signatures. Without the flag, flip one bit of each byte, and of each
    // 20th byte of the receipt.
    let isWhole = ProcessInfo.processInfo.environment["SWITCHBOARD_FUZZ"] != nil
    for index in object.indices {
      guard isWhole || index % (receipt.contains(index) ? 160 : 8) == bit else { continue }
      let result = try vector.attest(flip(8 * index + bit, of: object))
      guard case .success(let attestation) = result else { continue }
      #expect(receipt.contains(index))
      #expect(attestation.publicKey == genuine.publicKey)
    }
  }

  @Test func assertionsWithAFlippedBitAreRefused() throws {
    let vector = try AppAttestVector.named("veehaitch-ios-14.4")
    let assertion = try #require(vector.assertions?.first)
    let object = assertion.assertionObject.bytes
    let publicKey = try vector.attest().get().publicKey
    let key = AppAttest.Key(publicKey: publicKey, appID: vector.appID, counter: 0)
    let verifier = try vector.verifier()
    func accepts(_ object: [UInt8], _ clientData: [UInt8]) -> Bool {
      (try? verifier.verifyAssertion(object, of: clientData, by: key, where: { _ in true })) != nil
    }
    #expect(accepts(object, assertion.clientData.bytes))
    for number in 0..<(8 * object.count) {
      #expect(!accepts(flip(number, of: object), assertion.clientData.bytes))
    }
    for number in 0..<(8 * assertion.clientData.bytes.count) {
      #expect(!accepts(object, flip(number, of: assertion.clientData.bytes)))
    }
  }

  @Test(arguments: ["w3c-none-es256", "w3c-packed-eddsa", "w3c-packed-rs256"])
  func signInsWithAFlippedBitAreRefused(_ id: String) throws {
    let vector = try WebAuthnVector.named(id)
    let passkey = try vector.passkey()
    for part in [
      \PasskeyAssertion.clientDataJSON, \.authenticatorData, \.signature, \.credentialID,
    ] {
      for number in 0..<(8 * (try vector.assertion()[keyPath: part].count)) {
        let result = try vector.authenticate(by: passkey) {
          $0[keyPath: part] = flip(number, of: $0[keyPath: part])
        }
        #expect(throws: WebAuthnError.self) { try result.get() }
      }
    }
  }

  /// App Attest hashes once more than WebAuthn does.
  @Test func webAuthnSignaturesAreNoAppAttestAssertions() throws {
    let signer = try P256PrivateKey(pem: P256Tests.privateKey)
    let publicKey = try P256PublicKey(pem: P256Tests.publicKey).uncompressedPoint
    let clientData: [UInt8] = [1, 2, 3]
    let data = sha256("TEAM.app") + [0x40, 0, 0, 0, 1]
    let message = data + sha256(clientData)
    let verifier = AppAttest(appIDs: [], environments: [])
    let key = AppAttest.Key(publicKey: publicKey, appID: "TEAM.app", counter: 0)
    for (signed, isAccepted) in [(sha256(message), true), (message, false)] {
      let signature = try ecdsaSignature(signer.signES256(signed.span))
      let object =
        [0xA2, 0x69] + Array("signature".utf8) + [0x58, UInt8(signature.count)] + signature
        + [0x71] + Array("authenticatorData".utf8) + [0x58, UInt8(data.count)] + data
      let use = try? verifier.verifyAssertion(object, of: clientData, by: key, where: { _ in true })
      #expect((use?.counter == 1) == isAccepted)
    }
  }

  /// r and s as DER (RFC 3279 §2.2.3).
  private func ecdsaSignature(_ raw: [UInt8]) -> [UInt8] {
    let numbers = [raw.prefix(32), raw.suffix(32)].flatMap { number in
      var digits = Array(number.drop { $0 == 0 })
      if digits.first ?? 0xFF >= 0x80 { digits.insert(0, at: 0) }
      return [0x02, UInt8(digits.count)] + digits
    }
    return [0x30, UInt8(numbers.count)] + numbers
  }
}
