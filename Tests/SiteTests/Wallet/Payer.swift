import Foundation
import Support
import Testing

extension Site {
  private var phoneKey: String { "\(state)/phone.pem" }

  /// Signs up a person with a proven address, a card, and a phone that signs payments.
  func signUpPayer() throws -> Person {
    let person = try signUp()
    try confirm(person, "yes")
    _ = try sql(
      """
      INSERT IGNORE INTO banks (bsim_id, name) VALUES ('bank', 'Bank');
      INSERT INTO enrollments (id, account_id, bsim_id, enrolled_at)
        SELECT UUID(), id, 'bank', UTC_TIMESTAMP(3) FROM accounts WHERE email = '\(person.email)';
      INSERT INTO cards (id, enrollment_id, last_four, card_type, added_at)
        SELECT UUID(), id, '4242', 'VISA', UTC_TIMESTAMP(3) FROM enrollments;
      """)
    let publicKey = try openssl(
      """
      openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1"
      openssl pkey -in "$1" -pubout -outform DER | base64 -w 0
      """)
    let answer = post(
      "/api/mobile/auth/biometric/setup",
      #"{"deviceId":"phone-1","biometricType":"face","publicKey":"\#(publicKey)"}"#, person.bearer)
    try #require(answer.status == 200, "\(answer.body)")
    return person
  }

  /// Approves and confirms a payment in the person's app.
  func pay(_ requestID: String, by person: Person) throws {
    let approved = post(
      "/api/merchant/payment/initiate", #"{"requestId":"\#(requestID)"}"#, person.bearer)
    let challenge = try approved.string("challenge")
    let signature = try openssl(
      #"printf %s "$2" | openssl dgst -sha256 -sign "$1" | base64 -w 0"#, challenge)
    let confirmed = post(
      "/api/merchant/payment/confirm",
      #"{"requestId":"\#(requestID)","deviceId":"phone-1","signature":"\#(signature)"}"#,
      person.bearer)
    try #require(confirmed.status == 200, "\(confirmed.body)")
  }

  /// Runs a script whose first argument is the file of the phone's private key.
  private func openssl(_ script: String, _ argument: String = "") throws -> String {
    let outcome = Self.run(["sh", "-ec", script, "sh", phoneKey, argument])
    try #require(outcome.status == 0, "\(outcome.output)")
    return outcome.output
  }
}
