extension Messages {
  /// The wallet's contract fixes the texts about tokens.
  static let english = Messages(
    noCredentials: "Missing or invalid authorization header",
    invalidToken: "Invalid or expired access token",
    invalidDeviceCredential: "The app could not show that this is your device. Sign in again.",
    freshProofRequired:
      "Please sign in again, with a mailed code or a passkey, and then repeat this.",
    accountBanned: "This account is closed. Ask whoever runs this site.",
    unknownRequest: "The app asked for something that is not here. Update the app and try again.",
    payloadTooLarge: "The app sent too much at once. Send less, or update the app and try again.",
    tooManyRequests: "These were too many tries. Wait a while, and then try again.",
    unavailable: "We cannot answer at the moment. Try again in a few seconds.",
    serverError: "Something went wrong on our side. Try again later.",

    bodyIncomplete: "The request arrived incomplete. Try again.",
    invalidJSON: "The body is not valid JSON. Update the app and try again.",
    noObject: "The app sent no JSON object. Update the app and try again.",
    email: Entry("The e-mail address", "Enter your e-mail address."),
    name: Entry("The name", "Enter a name."),
    code: Entry("The code", "Enter the code from the mail."),
    sentValue: Pattern { "The \($0)" },
    tooLong: Pattern { "\($0) is too long. Shorten it and try again." },
    hasControls: Pattern {
      "\($0) has characters that cannot be shown. Remove them and try again."
    },
    notSent: Pattern { "The app sent no \($0). Update the app and try again." },
    wrong: Pattern { "The app sent a wrong \($0). Update the app and try again." },
    notAnEmailAddress: "Invalid email format. Enter an address such as name@example.org.",
    addressNotASCII: """
      The address has a letter with an accent, or one of another script. Enter an address in plain \
      letters; a domain of another script has a form that begins with xn--.
      """,
    unknownPlatform: Pattern { "The platform must be one of \($0). Update the app and try again." },

    accountExists: "An account with this email already exists. Use login instead.",
    confirmAddress: """
      We have mailed you a link. Open it and confirm that the account is yours. Otherwise your first \
      sign-in with a mailed code elsewhere signs out this phone.
      """,
    accountGone: "This account no longer exists. Sign in to another one, or create a new one.",
    codeSent: """
      If an account has this address, we have mailed it a code. Enter the code within five minutes.
      """,
    codeMailed: "We have mailed you a code. Type it here in place of the password.",
    wrongCode: "This code is wrong or too old. Type the newest one, or ask for another.",
    invalidRefreshToken: "Invalid or expired refresh token",
    refreshedElsewhere: "Your sign-in was renewed twice at the same time. Try again.",

    foreignForm: "This form was not sent by the page of this site. Open the page again.",
    formIncomplete: "The form arrived incomplete. Open the page again.",
    wrongPageCode: "This code is wrong or too old. Type the newest one, or start again.",
    pagePasskeyRefused: "The passkey was not accepted. Try another one, or take a code.",
    noForm: "The page sent no form. Go back and try again.",
    foreignEnrollmentForm: "This form came from another site. Open the app and start again.",
    foreignAddress: """
      Phones are paired only from this machine, and from addresses that the people who run this site have named.
      """,
    foreignPage: "Open this page under the site’s own name or address.",
    noTokensHere: "No sign-in is needed here. Use the app without a code.",
    phoneNameRule: """
      Enter a name of at most 64 characters, without control characters. An empty one takes the name away.
      """,

    unknownDevice: "This device is not registered yet. Restart the app and try again.",
    deviceFull: "This device is already registered. Use login instead.",
    deviceGone:
      "Your account does not have this device. Reload the list, or sign in on the device.",
    otherDevice: "You are signed in on another device. Sign in again on this one.",

    usePasskey: "Sign in with your passkey, or ask for a code by mail.",
    passkeyRefused: "The passkey was not accepted. Try again, or sign in with a mailed code.",
    passkeyWaits: """
      The passkey is added. You can sign in with it once you have confirmed your address: open the \
      link that we have mailed you.
      """,
    passkeyNotAdded: "The passkey was not accepted. Add it again.",
    passkeyTaken: "This passkey is in use already. Add another one.",
    passkeyGone: "This passkey is no longer there. Reload the list.",
    tooManyPasskeys: "Your account has as many passkeys as it may have. Remove one first.",
    noBiometricKey:
      "Nobody has set up biometric sign-in on this device. Sign in with a code first.",
    noPaymentKey: """
      This device cannot confirm payments yet. Turn on face or fingerprint in the app, or confirm with \
      a passkey.
      """,
    keyTooNew: """
      This device's key for face or fingerprint is new. Sign in with a mailed code or a passkey, \
      then confirm the payment; or wait a day.
      """,
    keyInUse:
      "This key belongs to another account on this phone. Make a new key, or update the app.",
    biometricsRefused:
      "Your face or fingerprint was not accepted. Try again, or sign in with a code.",

    unknownBank: "This bank cannot be added here. Choose another one.",
    enrollmentGone: "This bank is no longer in your wallet. Reload the list.",
    enrollmentExpired: "This enrollment has expired or was used before. Please start again.",
    enrollmentCancelled: "The bank was not added. Start again if you want to add it.",
    enrollmentRefused: "The bank refused the enrollment. Please start again.",
    bankUnavailable: "The bank cannot be reached at the moment. Please try again later.",
    noAnswerOfBank: "There was no answer in time, and nothing was stored. Please try again.",
    cardGone: "This card is no longer there. Reload the list.",
    notACurrency: "The currency must be one of ISO 4217, such as CAD.",
    amountOutOfRange: """
      Enter an amount above zero, at most 9999999999, with no more decimals than its currency has.
      """,
    paymentGone: "This payment does not exist, or it has expired. Start it again.",
    paymentConfirmed: "This payment is confirmed already. You need not do anything.",
    paymentNotConfirmed: "The payment was not confirmed. Try again.",
    paymentClosed: """
      This payment was cancelled, or its time is over. Go back to the shop and start again.
      """,
    paymentTaken: "Another person is paying this already. Go back to the shop if you want to pay.",
    cardExpired: "This card has expired. Choose another one, or enroll your bank again.",
    amountOverLimit: "The shop may not take an amount as large as this. Ask the shop.",
    addressNotProven: """
      Confirm your address first: open the link that we have mailed you, or sign in with a mailed \
      code. Then you can pay.
      """)
}
