extension EventTexts {
  static let english = EventTexts(
    sentence: { event in
      switch event {
      case .accountBanned: "The people who run this site closed the account."
      case .accountConfirmed: "The account was confirmed as yours."
      case .accountCreated: "The account was created."
      case .accountDeleted: "The account was deleted."
      case .accountDenied: "The account was denied, and deleted."
      case .accountHandedOver: "The address was proven. Earlier sign-ins and keys ended."
      case .accountUnbanned: "The people who run this site opened the account again."
      case .addressChangeBegun: "Another e-mail address was asked for."
      case .addressChanged: "The e-mail address was changed."
      case .biometricDisabled: "Face or fingerprint sign-in was turned off."
      case .biometricEnabled: "Face or fingerprint sign-in was turned on."
      case .biometricLocked: "Face or fingerprint sign-in was locked after too many wrong tries."
      case .biometricRefused: "A face or fingerprint was not accepted."
      case .codeDead: "A sign-in code ended after too many wrong tries."
      case .codeRefused: "A wrong sign-in code was typed."
      case .codeRequested: "A sign-in code was asked for."
      case .credentialRefused: "A device could not show that it is yours."
      case .deviceRegistered: "A device was registered again."
      case .deviceRenamed: "A device was renamed."
      case .deviceRevoked: "A device was removed."
      case .emailProven: "The e-mail address was proven."
      case .logout: "A device or browser was signed out."
      case .passkeyAdded: "A passkey was added."
      case .passkeyCloned: "A passkey was refused, because it may have been copied."
      case .passkeyRefused: "A passkey was not accepted."
      case .passkeyRemoved: "A passkey was removed."
      case .passkeyRenamed: "A passkey was renamed."
      case .profileChanged: "The name was changed."
      case .pushTokenRemoved: "Notifications were turned off on a device."
      case .pushTokenSet: "Notifications were turned on for a device."
      case .refreshRefused: "A sign-in was renewed twice at once, and one try was refused."
      case .refreshRepeated:
        "An app asked for a renewal again, as after a lost answer."
      case .refreshReuse: "A key was used a second time, so its device was signed out."
      case .refreshed: "A sign-in was renewed."
      case .signIn: "Somebody signed in."
      case .signInRefused: "A sign-in was refused."
      case .preferencesWritten: "Settings were changed."
      case .keyBound: "An app showed that it is genuine."
      case .writeRefused: "A change was refused, because the app could not show that it is genuine."
      case .bankEnrolled: "A bank was added."
      case .bankEnrollmentBegun: "Somebody began to add a bank."
      case .bankRefused: "A bank was not added."
      case .cardDefault: "Another card was chosen as the first."
      case .cardRemoved: "A card was removed."
      case .enrollmentRemoved: "A bank and its cards were removed."
      case .paymentBegun: "A payment was begun."
      case .paymentCancelled: "A payment was cancelled."
      case .paymentConfirmed: "A payment was confirmed."
      case .paymentRefunded: "The shop gave a payment back."
      case .paymentRefused: "A payment was not confirmed."
      }
    },
    other: "Something else happened.",
    byAdministrator: "The people who run this site did this.",
    byLink: "The link in a mail was used.", inBrowser: "In a browser, on this page.",
    reason: "Reason:")
}
