extension AccountTexts {
  static let english = AccountTexts(
    title: "Your account",
    intro: """
      See, change and delete what this site knows about you. Sign in with a code that we mail to the address of your \
      account, or with a passkey.
      """,
    email: "E-mail address", mailCode: "Mail me a code", withPasskey: "With a passkey",
    passkeyButton: "Sign in with a passkey",
    passkeyNeedsScript: """
      A passkey needs JavaScript, which your browser has switched off. Sign in with a code.
      """,
    noPasskey: "Your browser gave no passkey. Try again, or take a code.",
    codeTitle: "Type the code",
    codeIntro: """
      If an account has that address, we have mailed it a code of six digits. It is good for five minutes.
      """,
    code: "Code from the mail", signIn: "Sign in", startAgain: "Start again",
    signInAgain: "Sign in again",
    signedInAs: "Signed in as", signOut: "Sign out", about: "Name and address", name: "Name",
    changeName: "Change the name", changeAddress: "Change the address",
    addressRule: "We mail a link to a new address. The address counts when you use the link.",
    pendingAddress: Pattern {
      "We have mailed a link to \($0). The address counts when you use the link."
    },
    everything: "Everything", download: "Download what we keep for your account",
    delete: "Delete your account", thisBrowser: "(this browser)",
    unknownAddress: "Unknown address", notSignedIn: "no", signedInUntil: Pattern { "until \($0)" },
    keep: "Keep", onlySignOut: "Only sign it out", deletionTitle: "Delete your account?",
    deletionIntro: Pattern {
      """
      This deletes the account of \($0): devices, passkeys, banks, cards and settings. It cannot be undone. Records of \
      payments stay, without your name.
      """
    },
    deleteButton: "Delete my account", keepAccount: "Keep my account",
    notes: Notes(
      nameChanged: "Your name is changed.",
      linkMailed: """
        We have mailed a link to that address. Your account gets the address when you use the link.
        """,
      signedOut: "You are signed out.", deleted: "Your account is deleted.",
      stale: "Nothing was changed, because that page was out of date. Please try again.",
      signInFirst: "Nothing was changed. Please sign in first.",
      gone: "That is not there any more.",
      proofTooOld: """
        You signed in more than ten minutes ago. Please sign in again, and then repeat this.
        """),
    devices: .init(
      title: "Devices", none: "No device has signed in.",
      facts: [
        "platform": "Platform", "createdAt": "Since", "lastUsedAt": "Last used",
        "signedInUntil": "Signed in",
      ],
      removal: .init(
        button: "Remove", question: "Remove this device?",
        consequence: """
          It is signed out, and its face or fingerprint sign-in ends. It can sign in again with a code.
          """,
        done: "The device is removed and signed out.")),
    browsers: .init(
      title: "Browsers on this page", none: "No browser is signed in.",
      facts: ["signedInAt": "Since", "expiresAt": "Until"],
      removal: .init(
        button: "Sign out", question: "Sign this browser out?",
        consequence: "Nobody can use your account in it until they sign in again.",
        done: "The browser is signed out.")),
    passkeys: .init(
      title: "Passkeys", none: "There are no passkeys.",
      facts: ["createdAt": "Since", "lastUsedAt": "Last used"],
      removal: .init(
        button: "Remove", question: "Remove this passkey?",
        consequence:
          "Nobody can sign in with it any more. You can still sign in with a mailed code.",
        done: "The passkey is removed.")),
    events: .init(
      title: "What happened", none: "Nothing has happened yet.", facts: [:]),
    signedOutDevice: "The device is signed out.")
}

extension LinkTexts {
  static let english = LinkTexts(
    isThisYou: "Is this you?",
    somebodyCreated: "Somebody has created an account with your e-mail address.",
    address: "Address", phone: "Phone", when: "When", from: "From",
    thisIsMe: "Yes, this is me", thisIsNotMe: "No, this is not me",
    creationRule: """
      If you say no, the account is deleted. Until you say yes, the first sign-in with a mailed code elsewhere signs out \
      the phone above.
      """,
    thanks: "Thank you", confirmed: "Your address is confirmed. You can close this page.",
    denied: "The account is deleted",
    nobodyUses: "Nobody can use it any more. You need not do anything else.",
    nothingToConfirm: "Nothing to confirm",
    usedBefore: "This link was used before, or the account no longer exists.",
    useAddress: "Use this address?",
    somebodyWants: "Somebody who is signed in to this account wants it to have the new address:",
    newAddress: "New address", name: "Name", noPhone: "none is signed in",
    accountSince: "Account since",
    onlyIfYours: """
      Only go on if this account is yours. From then on you sign in to it with the address, and codes are mailed there.
      """,
    useButton: "Use this address",
    otherwise: """
      If you do not know this account, or did not ask for this, close the page. Nothing changes then. Otherwise your \
      sign-ins would open the account of somebody else, who sees what you do there.
      """,
    addressChanged: "Your address is changed",
    hasNewAddress: "Your account has the new address now. You can close this page.",
    nothingToChange: "Nothing to change",
    addressGone: """
      This link was used before or is too old, or another account has the address by now. Ask for the new address again, \
      or for another one.
      """,
    wasThisNotYou: "Was this not you?", device: "Device", signedIn: "Signed in",
    endDevice: "Sign this device out", endBrowsers: "Sign all browsers out",
    ifItWasYou: "If it was you, close this page.",
    passkeyGoesToo: "Otherwise the passkey that was added goes too.", undone: "It is undone",
    deviceOut: """
      The device is signed out. Nobody can use your account on it until they sign in again.
      """,
    passkeyRemoved: "The passkey is removed.",
    browsersOut: "The browsers are signed out.",
    watchYourMail: "If you do not know who it was, make sure that nobody else reads your mail.",
    keepAddress: "Keep the present address",
    askerGoesToo: "Otherwise the device or browser that asked is signed out too.",
    addressStays: "The address stays as it is.",
    hasAccess: "These can use the account by now:",
    biometricKey: "Face or fingerprint", passkey: "Passkey", removeAll: "Remove all of them",
    allGo: """
      Otherwise all of them are removed, and the devices are signed out. Afterward, sign in again with a code.
      """,
    allRemoved: "All of them are removed.",
    nothingToEnd: "Nothing to end",
    outAlready: "It is signed out already, or the account no longer exists.")
}
