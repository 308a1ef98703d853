extension AccountTexts {
  static let german = AccountTexts(
    title: "Ihr Konto",
    intro: """
      Sehen, ändern und löschen Sie, was diese Seite über Sie weiß. Melden Sie sich mit einem Code an, den wir an die \
      Adresse Ihres Kontos schicken, oder mit einem Passkey.
      """,
    email: "E-Mail-Adresse", mailCode: "Code per E-Mail schicken", withPasskey: "Mit einem Passkey",
    passkeyButton: "Mit einem Passkey anmelden",
    passkeyNeedsScript: """
      Ein Passkey braucht JavaScript, das in Ihrem Browser ausgeschaltet ist. Melden Sie sich mit einem Code an.
      """,
    noPasskey: """
      Ihr Browser hat keinen Passkey geliefert. Versuchen Sie es noch einmal, oder nehmen Sie einen Code.
      """,
    codeTitle: "Geben Sie den Code ein",
    codeIntro: """
      Wenn es ein Konto mit dieser Adresse gibt, haben wir einen Code aus sechs Ziffern dorthin geschickt. Er gilt fünf \
      Minuten.
      """,
    code: "Code aus der E-Mail", signIn: "Anmelden", startAgain: "Von vorn beginnen",
    signInAgain: "Melden Sie sich neu an",
    signedInAs: "Angemeldet als", signOut: "Abmelden", about: "Name und Adresse",
    name: "Ihr Name", changeName: "Namen ändern", changeAddress: "Adresse ändern",
    addressRule: """
      Wir schicken einen Link an die neue Adresse. Sie gilt, sobald Sie den Link benutzen.
      """,
    pendingAddress: Pattern {
      "Wir haben einen Link an \($0) geschickt. Die Adresse gilt, sobald Sie den Link benutzen."
    },
    everything: "Alles zusammen", download: "Herunterladen, was wir zu Ihrem Konto speichern",
    delete: "Ihr Konto löschen", thisBrowser: "(dieser Browser)",
    unknownAddress: "Unbekannte Adresse", notSignedIn: "nein",
    signedInUntil: Pattern { "bis \($0)" },
    keep: "Behalten", onlySignOut: "Nur abmelden", deletionTitle: "Ihr Konto löschen?",
    deletionIntro: Pattern {
      """
      Dies löscht das Konto von \($0): Geräte, Passkeys, Banken, Karten und Einstellungen. Es lässt sich nicht \
      rückgängig machen. Aufzeichnungen über Zahlungen bleiben, ohne Ihren Namen.
      """
    },
    deleteButton: "Mein Konto löschen", keepAccount: "Mein Konto behalten",
    notes: Notes(
      nameChanged: "Ihr Name ist geändert.",
      linkMailed: """
        Wir haben einen Link an diese Adresse geschickt. Ihr Konto bekommt sie, sobald Sie den Link benutzen.
        """,
      signedOut: "Sie sind abgemeldet.", deleted: "Ihr Konto ist gelöscht.",
      stale: """
        Es wurde nichts geändert, weil die Seite veraltet war. Bitte versuchen Sie es noch einmal.
        """,
      signInFirst: "Es wurde nichts geändert. Bitte melden Sie sich zuerst an.",
      gone: "Das gibt es nicht mehr.",
      proofTooOld: """
        Ihre Anmeldung ist mehr als zehn Minuten her. Bitte melden Sie sich neu an, und wiederholen Sie es dann.
        """),
    devices: .init(
      title: "Geräte", none: "Es hat sich kein Gerät angemeldet.",
      facts: [
        "platform": "Plattform", "createdAt": "Seit", "lastUsedAt": "Zuletzt benutzt",
        "signedInUntil": "Angemeldet",
      ],
      removal: .init(
        button: "Entfernen", question: "Dieses Gerät entfernen?",
        consequence: """
          Es wird abgemeldet, und die Anmeldung mit Gesicht oder Fingerabdruck endet dort. Mit einem Code kann es sich \
          wieder anmelden.
          """,
        done: "Das Gerät ist entfernt und abgemeldet.")),
    browsers: .init(
      title: "Browser auf dieser Seite", none: "Es ist kein Browser angemeldet.",
      facts: ["signedInAt": "Seit", "expiresAt": "Bis"],
      removal: .init(
        button: "Abmelden", question: "Diesen Browser abmelden?",
        consequence: "Dort kann niemand Ihr Konto benutzen, bis er sich neu anmeldet.",
        done: "Der Browser ist abgemeldet.")),
    passkeys: .init(
      title: "Ihre Passkeys", none: "Es gibt keine Passkeys.",
      facts: ["createdAt": "Seit", "lastUsedAt": "Zuletzt benutzt"],
      removal: .init(
        button: "Entfernen", question: "Diesen Passkey entfernen?",
        consequence: """
          Niemand kann sich dann noch damit anmelden. Sie können sich weiterhin mit einem Code anmelden.
          """,
        done: "Der Passkey ist entfernt.")),
    events: .init(
      title: "Was geschehen ist", none: "Es ist noch nichts geschehen.", facts: [:]),
    signedOutDevice: "Das Gerät ist abgemeldet.")
}

extension LinkTexts {
  static let german = LinkTexts(
    isThisYou: "Sind Sie das?",
    somebodyCreated: "Jemand hat mit Ihrer E-Mail-Adresse ein Konto angelegt.",
    address: "Adresse", phone: "Telefon", when: "Wann", from: "Von",
    thisIsMe: "Ja, das bin ich", thisIsNotMe: "Nein, das bin ich nicht",
    creationRule: """
      Wenn Sie Nein sagen, wird das Konto gelöscht. Bis Sie Ja sagen, meldet die erste Anmeldung mit einem gemailten Code \
      auf einem anderen Gerät das Telefon oben ab.
      """,
    thanks: "Vielen Dank",
    confirmed: "Ihre Adresse ist bestätigt. Sie können diese Seite schließen.",
    denied: "Das Konto ist gelöscht",
    nobodyUses: "Niemand kann es mehr benutzen. Sie müssen nichts weiter tun.",
    nothingToConfirm: "Nichts zu bestätigen",
    usedBefore: "Dieser Link wurde schon benutzt, oder das Konto gibt es nicht mehr.",
    useAddress: "Diese Adresse benutzen?",
    somebodyWants: """
      Jemand, der bei diesem Konto angemeldet ist, möchte ihm die neue Adresse geben:
      """,
    newAddress: "Neue Adresse", name: "Name des Kontos", noPhone: "keines ist angemeldet",
    accountSince: "Konto seit",
    onlyIfYours: """
      Machen Sie nur weiter, wenn dieses Konto Ihnen gehört. Von da an melden Sie sich mit der Adresse an, und Codes \
      gehen dorthin.
      """,
    useButton: "Diese Adresse benutzen",
    otherwise: """
      Wenn Sie dieses Konto nicht kennen oder das nicht wollten, schließen Sie die Seite. Dann ändert sich nichts. Sonst \
      würden Ihre Anmeldungen das Konto eines anderen öffnen, der sieht, was Sie dort tun.
      """,
    addressChanged: "Ihre Adresse ist geändert",
    hasNewAddress: "Ihr Konto hat jetzt die neue Adresse. Sie können diese Seite schließen.",
    nothingToChange: "Nichts zu ändern",
    addressGone: """
      Dieser Link wurde schon benutzt oder ist zu alt, oder ein anderes Konto hat inzwischen die Adresse. Geben Sie die \
      neue Adresse noch einmal an, oder eine andere.
      """,
    wasThisNotYou: "Waren Sie das nicht?", device: "Gerät", signedIn: "Angemeldet",
    endDevice: "Dieses Gerät abmelden", endBrowsers: "Alle Browser abmelden",
    ifItWasYou: "Wenn Sie es waren, schließen Sie diese Seite.",
    passkeyGoesToo: "Sonst wird auch der hinzugefügte Passkey entfernt.",
    undone: "Es ist rückgängig gemacht",
    deviceOut: """
      Das Gerät ist abgemeldet. Dort kann niemand Ihr Konto benutzen, bis er sich neu anmeldet.
      """,
    passkeyRemoved: "Der Passkey ist entfernt.",
    browsersOut: "Die Browser sind abgemeldet.",
    watchYourMail: """
      Wenn Sie nicht wissen, wer es war, sorgen Sie dafür, dass niemand sonst Ihre E-Mails liest.
      """,
    keepAddress: "Die jetzige Adresse behalten",
    askerGoesToo: "Sonst wird auch das Gerät oder der Browser abgemeldet, der danach gefragt hat.",
    addressStays: "Die Adresse bleibt, wie sie ist.",
    hasAccess: "Damit kann das Konto bisher benutzt werden:",
    biometricKey: "Gesicht oder Finger", passkey: "Passkey", removeAll: "Alle entfernen",
    allGo: """
      Sonst werden sie alle entfernt und die Geräte abgemeldet. Melden Sie sich danach mit einem Code neu an.
      """,
    allRemoved: "Alle sind entfernt.",
    nothingToEnd: "Nichts zu beenden",
    outAlready: "Die Anmeldung ist schon beendet, oder das Konto gibt es nicht mehr.")
}
