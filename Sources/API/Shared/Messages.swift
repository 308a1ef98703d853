import Base
import HTTP

/// All texts of the API for people, in one language. Each language has a file; a file without one of the texts
/// does not compile.
///
/// The apps show `message` as it is, so each text is a sentence that says what to do. Codes for programs are
/// the same in each language and are in other members of the answer.
struct Messages: Sendable {
  /// A value that people type themselves.
  struct Entry: Sendable {
    /// The name of the value at the start of a sentence.
    let subject: String
    /// A request to type the value.
    let request: String

    init(_ subject: String, _ request: String) {
      self.subject = subject
      self.request = request
    }
  }

  /// A text around a part that is the same in each language.
  struct Pattern: Sendable {
    private let text: @Sendable (String) -> String

    init(_ text: @escaping @Sendable (String) -> String) { self.text = text }

    func callAsFunction(_ part: String) -> String { text(part) }
  }

  // Any request
  let noCredentials: String
  let invalidToken: String
  let invalidDeviceCredential: String
  let freshProofRequired: String
  let accountBanned: String
  let unknownRequest: String
  let payloadTooLarge: String
  let tooManyRequests: String
  let unavailable: String
  let serverError: String

  // Bodies and their members
  let bodyIncomplete: String
  let invalidJSON: String
  let noObject: String
  let email: Entry
  let name: Entry
  let code: Entry
  /// The name, at the start of a sentence, of a member that only the app sends.
  let sentValue: Pattern
  /// Text after the name of a too long value, which starts the sentence; also ``hasControls``.
  let tooLong: Pattern
  let hasControls: Pattern
  /// Text around the name of a member; also ``wrong``.
  let notSent: Pattern
  let wrong: Pattern
  let notAnEmailAddress: String
  let addressNotASCII: String
  /// Text around the names of the known platforms.
  let unknownPlatform: Pattern

  // Accounts and sign-in
  let accountExists: String
  /// Tells a new account's phone how it stays signed in.
  let confirmAddress: String
  let accountGone: String
  let codeSent: String
  /// Text for an app whose screen asks for a password.
  let codeMailed: String
  let wrongCode: String
  let invalidRefreshToken: String
  let refreshedElsewhere: String

  // Pages
  let foreignForm: String
  let formIncomplete: String
  let wrongPageCode: String
  let pagePasskeyRefused: String
  let noForm: String
  let foreignEnrollmentForm: String
  let foreignAddress: String
  let foreignPage: String
  let noTokensHere: String
  let phoneNameRule: String

  // Devices
  let unknownDevice: String
  let deviceFull: String
  let deviceGone: String
  let otherDevice: String

  // Passkeys and biometrics
  let usePasskey: String
  let passkeyRefused: String
  /// Text for a passkey that no sign-in offers before the address is proven.
  let passkeyWaits: String
  let passkeyNotAdded: String
  let passkeyTaken: String
  let passkeyGone: String
  let tooManyPasskeys: String
  let noBiometricKey: String
  /// Text for a payment.
  let noPaymentKey: String
  /// Text for a payment with a key that was set up without a proof.
  let keyTooNew: String
  let keyInUse: String
  let biometricsRefused: String

  // Banks, cards and payments
  let unknownBank: String
  let enrollmentGone: String
  let enrollmentExpired: String
  let enrollmentCancelled: String
  let enrollmentRefused: String
  let bankUnavailable: String
  let noAnswerOfBank: String
  let cardGone: String
  let notACurrency: String
  let amountOutOfRange: String
  let paymentGone: String
  let paymentConfirmed: String
  let paymentNotConfirmed: String
  /// The payment is cancelled or expired.
  let paymentClosed: String
  /// Another account has approved the payment.
  let paymentTaken: String
  let cardExpired: String
  let amountOverLimit: String
  let addressNotProven: String
}

extension Messages {
  init(in language: Language) {
    switch language {
    case .english: self = .english
    case .german: self = .german
    case .french: self = .french
    case .spanish: self = .spanish
    case .persian: self = .persian
    }
  }
}

extension Request {
  /// The supported language that the request prefers; nil if it names none.
  var language: Language? { field("Accept-Language").flatMap(Language.init(accepting:)) }

  /// The language of texts for people in the answer.
  var messageLanguage: Language { language ?? .english }
}

extension Response {
  /// This answer with the fields for its language, which depends on the request.
  func written(in language: Language) -> Response {
    var response = self
    response.fields += [("Content-Language", language.rawValue), ("Vary", "Accept-Language")]
    return response
  }
}
