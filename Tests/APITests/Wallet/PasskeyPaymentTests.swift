import Support
import Testing

@testable import API

/// Payments confirmed with a passkey.
@Suite struct PasskeyPaymentTests {
  private func withPasskey(_ body: (Checkout, Authenticator) throws -> Void) throws {
    try withCheckout { shop in
      let authenticator = Authenticator()
      try shop.site.addPasskey(authenticator, of: shop.ann)
      try body(shop, authenticator)
    }
  }

  @Test func aPasskeyConfirmsAPayment() throws {
    try withPasskey { shop, authenticator in
      let payment = try shop.begin()
      let answer = shop.confirm(payment, authenticator.asserted(answering: payment.challenge))
      #expect(answer.status == 200, "\(answer.text)")
      #expect(answer["success"] as? Bool == true && answer.string("cardLast4") == "4242")
      #expect(shop.site.sql("SELECT confirmed_by FROM payments") == "passkey")
      #expect(shop.site.sql("SELECT uses FROM passkeys") == "1")
      #expect(
        shop.confirm(payment, authenticator.asserted(answering: payment.challenge)).status == 409)
      #expect(shop.site.sql("SELECT uses FROM passkeys") == "1")
    }
  }

  enum Proof: CaseIterable { case passkey, biometric }

  /// A ban or a sign-out comes after the try was counted.
  @Test(arguments: Proof.allCases)
  func aSessionThatEndsMeanwhileConfirmsNothing(proof: Proof) throws {
    try withPasskey { shop, authenticator in
      let payment = try shop.begin()
      shop.site.sql(
        """
        CREATE TRIGGER meanwhile AFTER UPDATE ON payments FOR EACH ROW
        UPDATE sessions SET ended_at = UTC_TIMESTAMP(3), end_reason = 'logout'
        WHERE NEW.attempts > OLD.attempts AND ended_at IS NULL
        """)
      let answer =
        switch proof {
        case .passkey: shop.confirm(payment, authenticator.asserted(answering: payment.challenge))
        case .biometric: shop.confirm(payment)
        }
      #expect(answer.isError(401, "unauthorized"), "\(answer.text)")
      #expect(shop.site.sql("SELECT attempts, confirmed_at FROM payments") == "1\tNULL")
    }
  }

  /// The sign count rises, or the passkey is removed, after the passkey was read.
  @Test(
    arguments: [
      ("UPDATE passkeys SET sign_count = 9", "passkey_cloned", "payment: signCount"),
      ("DELETE FROM passkeys", "passkey_refused", "payment: credential"),
    ])
  func changesOfAPasskeyMeanwhileAreAudited(
    change: String, event: String, detail: String
  ) throws {
    try withPasskey { shop, authenticator in
      var counting = authenticator
      counting.signCount = 7
      let payment = try shop.begin()
      shop.site.sql(
        """
        CREATE TRIGGER meanwhile BEFORE UPDATE ON payments FOR EACH ROW
        \(change) WHERE NEW.confirmed_at IS NOT NULL
        """)
      let device = shop.site.sql("SELECT id FROM devices")
      #expect(shop.confirm(payment, counting.asserted(answering: payment.challenge)).isUnproven)
      #expect(shop.site.sql("SELECT confirmed_at FROM payments") == "NULL")
      #expect(shop.site.sql("SELECT uses FROM passkeys") == "0")
      #expect(
        shop.site.sql(
          """
          SELECT event, detail, account_id, device_id FROM audit_log
          WHERE event IN ('passkey_cloned', 'passkey_refused')
          """) == "\(event)\t\(detail)\t\(shop.ann.accountID)\t\(device)")
    }
  }

  /// Four calls are fewer than the five attempts of a payment.
  @Test func fourCallsWithOneAssertionConfirmOnceAndGetOneAnswer() throws {
    try withPasskey { shop, authenticator in
      for _ in 1...20 {
        let payment = try shop.begin()
        let credential = authenticator.asserted(answering: payment.challenge)
        let answers = inParallel(4) { _ in shop.confirm(payment, credential) }
        #expect(answers.map(\.status) == [200, 200, 200, 200])
        #expect(Set(answers.map { $0.string("cardToken") }).count == 1)
      }
      #expect(shop.site.count("audit_log WHERE event = 'payment_confirmed'") == 20)
    }
  }

  @Test func oneOfManyAssertionsAtOnceConfirms() throws {
    try withPasskey { shop, authenticator in
      var counting = authenticator
      counting.signCount = 7
      let payment = try shop.begin()
      let credential = counting.asserted(answering: payment.challenge)
      let answers = inParallel(64) { _ in shop.confirm(payment, credential).status }
      #expect(answers.contains(200))
      // Calls over an attempt limit are refused for that reason.
      #expect(Set(answers).isSubset(of: [200, 400]), "\(Set(answers))")
      #expect(shop.site.count("audit_log WHERE event = 'payment_confirmed'") == 1)
      #expect(shop.site.count("audit_log WHERE event = 'passkey_cloned'") == 0)
      #expect(shop.site.sql("SELECT uses, sign_count FROM passkeys") == "1\t7")
    }
  }

  enum Wrong: CaseIterable {
    case challenge, type, origin, party, unverified, stranger, signature, clone
  }

  @Test(arguments: Wrong.allCases)
  func aWrongAssertionSpendsATry(wrong: Wrong) throws {
    try withPasskey { shop, authenticator in
      let payment = try shop.begin()
      var other = authenticator
      var (challenge, type) = (payment.challenge, "webauthn.get")
      switch wrong {
      case .challenge: challenge = try shop.begin().challenge
      case .type: type = "webauthn.create"
      case .origin: other.origin = "https://shop.example"
      case .party: other.partyID = "shop.example"
      case .unverified: other.flags &= ~Authenticator.Flag.verified
      case .stranger: other.credentialID = Authenticator().credentialID
      case .signature: other.algorithm = .edDSA
      case .clone: shop.site.sql("UPDATE passkeys SET sign_count = 9")
      }
      let answer = shop.confirm(payment, other.asserted(answering: challenge, type: type))
      #expect(answer.isUnproven, "\(answer.text)")
      #expect(
        shop.site.sql("SELECT attempts FROM payments WHERE id = '\(payment.id)'") == "1")
      #expect(shop.site.sql("SELECT uses FROM passkeys") == "0")
      #expect(
        shop.site.sql("SELECT detail FROM audit_log WHERE event = 'payment_refused'")
          == "\(payment.id) passkey")
      #expect(
        shop.site.count(
          "audit_log WHERE event = 'passkey_\(wrong == .clone ? "cloned" : "refused")'") == 1)
      if wrong == .clone { shop.site.sql("UPDATE passkeys SET sign_count = 0") }
      #expect(
        shop.confirm(payment, authenticator.asserted(answering: payment.challenge)).status == 200)
    }
  }

  @Test func thePasskeyOfAnotherAccountConfirmsNothing() throws {
    try withPasskey { shop, _ in
      let bob = try shop.site.signUp(email: "bob@example.org", device: "device-2")
      let authenticator = Authenticator()
      try shop.site.addPasskey(authenticator, of: bob)
      let payment = try shop.begin()
      #expect(
        shop.confirm(payment, authenticator.asserted(answering: payment.challenge)).isUnproven)
    }
  }

  @Test func atMostFiveGuessesAreCompared() throws {
    try withPasskey { shop, authenticator in
      var stranger = authenticator
      stranger.origin = "https://shop.example"
      let payment = try shop.begin()
      let credential = stranger.asserted(answering: payment.challenge)
      let answers = inParallel(100) { _ in shop.confirm(payment, credential) }
      #expect(answers.filter(\.isUnproven).count == 5)
      #expect(answers.filter(\.isNotOpen).count == 95, "\(Set(answers.map(\.text)))")
      #expect(
        shop.confirm(payment, authenticator.asserted(answering: payment.challenge)).isNotOpen)
    }
  }

  /// A payment's challenge cannot sign in, and a sign-in's challenge cannot confirm a payment.
  @Test func anAssertionIsValidForOnePurposeOnly() throws {
    try withPasskey { shop, authenticator in
      let payment = try shop.begin()
      let credential = authenticator.asserted(answering: payment.challenge)
      #expect(shop.site.verify(credential).isRefusedPasskey)
      let challenge = try shop.site.signInChallenge()
      #expect(shop.confirm(payment, authenticator.asserted(answering: challenge)).isUnproven)
    }
  }
}
