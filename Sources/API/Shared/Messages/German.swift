extension Messages {
  static let german = Messages(
    noCredentials:
      "Sie sind nicht angemeldet. Melden Sie sich an, und versuchen Sie es noch einmal.",
    invalidToken: "Ihre Anmeldung ist abgelaufen. Melden Sie sich neu an.",
    invalidDeviceCredential:
      "Die App konnte nicht nachweisen, dass dies Ihr Gerät ist. Melden Sie sich neu an.",
    freshProofRequired: """
      Bitte melden Sie sich mit einem per E-Mail gesendeten Code oder einem Passkey neu an, und wiederholen \
      Sie es dann.
      """,
    accountBanned: "Dieses Konto ist gesperrt. Fragen Sie die Betreiber dieser Seite.",
    unknownRequest: """
      Was die App verlangt hat, gibt es hier nicht. Aktualisieren Sie die App, und versuchen Sie es \
      noch einmal.
      """,
    payloadTooLarge: """
      Die App hat zu viel auf einmal gesendet. Senden Sie weniger, oder aktualisieren Sie die App, \
      und versuchen Sie es noch einmal.
      """,
    tooManyRequests:
      "Das waren zu viele Versuche. Warten Sie eine Weile, und versuchen Sie es dann noch einmal.",
    unavailable:
      "Wir können im Moment nicht antworten. Versuchen Sie es in ein paar Sekunden noch einmal.",
    serverError: "Bei uns ist etwas schiefgegangen. Versuchen Sie es später noch einmal.",

    bodyIncomplete: "Die Anfrage kam unvollständig an. Versuchen Sie es noch einmal.",
    invalidJSON: """
      Was die App gesendet hat, ist kein gültiges JSON. Aktualisieren Sie die App, und versuchen Sie \
      es noch einmal.
      """,
    noObject: """
      Die App hat kein JSON-Objekt gesendet. Aktualisieren Sie die App, und versuchen Sie es noch \
      einmal.
      """,
    email: Entry("Die E-Mail-Adresse", "Geben Sie Ihre E-Mail-Adresse ein."),
    name: Entry("Der Name", "Geben Sie einen Namen ein."),
    code: Entry("Der Code", "Geben Sie den Code aus der E-Mail ein."),
    sentValue: Pattern { "Der Wert „\($0)“" },
    tooLong: Pattern {
      "\($0) ist zu lang. Kürzen Sie die Eingabe, und versuchen Sie es noch einmal."
    },
    hasControls: Pattern {
      """
      \($0) enthält Zeichen, die sich nicht anzeigen lassen. Entfernen Sie diese, und versuchen Sie \
      es noch einmal.
      """
    },
    notSent: Pattern {
      """
      Die App hat den Wert „\($0)“ nicht gesendet. Aktualisieren Sie die App, und versuchen Sie es \
      noch einmal.
      """
    },
    wrong: Pattern {
      """
      Die App hat für „\($0)“ einen falschen Wert gesendet. Aktualisieren Sie die App, und versuchen \
      Sie es noch einmal.
      """
    },
    notAnEmailAddress: """
      Das ist keine gültige E-Mail-Adresse. Geben Sie eine Adresse wie name@example.org ein.
      """,
    addressNotASCII: """
      Die Adresse enthält einen Umlaut, einen Buchstaben mit Akzent oder einen aus einer anderen \
      Schrift. Geben Sie eine Adresse aus einfachen Buchstaben ein; eine Domain in anderer Schrift \
      hat eine Form, die mit xn-- beginnt.
      """,
    unknownPlatform: Pattern {
      """
      Die Plattform muss eine von diesen sein: \($0). Aktualisieren Sie die App, und versuchen Sie es \
      noch einmal.
      """
    },

    accountExists: "Mit dieser E-Mail-Adresse gibt es schon ein Konto. Melden Sie sich damit an.",
    confirmAddress: """
      Wir haben Ihnen einen Link gemailt. Öffnen Sie ihn und bestätigen Sie, dass das Konto Ihnen \
      gehört. Sonst meldet Ihre erste Anmeldung mit einem gemailten Code auf einem anderen Gerät dieses Telefon ab.
      """,
    accountGone: """
      Dieses Konto gibt es nicht mehr. Melden Sie sich bei einem anderen an, oder legen Sie ein \
      neues an.
      """,
    codeSent: """
      Wenn es ein Konto mit dieser Adresse gibt, haben wir einen Code dorthin geschickt. Geben Sie \
      ihn innerhalb von fünf Minuten ein.
      """,
    codeMailed:
      "Wir haben Ihnen einen Code gemailt. Geben Sie ihn hier anstelle des Passworts ein.",
    wrongCode: """
      Dieser Code ist falsch oder zu alt. Geben Sie den neuesten ein, oder fordern Sie einen \
      neuen an.
      """,
    invalidRefreshToken: "Ihre Anmeldung ist abgelaufen. Melden Sie sich neu an.",
    refreshedElsewhere:
      "Ihre Anmeldung wurde zweimal gleichzeitig erneuert. Versuchen Sie es noch einmal.",

    foreignForm: "Dieses Formular kam nicht von dieser Seite. Öffnen Sie die Seite noch einmal.",
    formIncomplete: "Das Formular kam unvollständig an. Öffnen Sie die Seite noch einmal.",
    wrongPageCode: """
      Dieser Code ist falsch oder zu alt. Geben Sie den neuesten ein, oder beginnen Sie von vorn.
      """,
    pagePasskeyRefused: """
      Der Passkey wurde nicht angenommen. Versuchen Sie es mit einem anderen oder mit einem Code.
      """,
    noForm:
      "Die Seite hat kein Formular gesendet. Gehen Sie zurück, und versuchen Sie es noch einmal.",
    foreignEnrollmentForm: """
      Dieses Formular kam von einer anderen Seite. Öffnen Sie die App, und beginnen Sie von vorn.
      """,
    foreignAddress: """
      Telefone lassen sich nur von diesem Rechner aus koppeln und von Adressen, die die Betreiber dieser Seite genannt \
      haben.
      """,
    foreignPage: "Öffnen Sie diese Seite unter ihrem eigenen Namen oder ihrer Adresse.",
    noTokensHere: "Hier ist keine Anmeldung nötig. Benutzen Sie die App ohne Code.",
    phoneNameRule: """
      Geben Sie einen Namen mit höchstens 64 Zeichen ein, ohne Steuerzeichen. Ein leerer Name entfernt den bisherigen.
      """,

    unknownDevice: """
      Dieses Gerät ist noch nicht registriert. Starten Sie die App neu, und versuchen Sie es noch \
      einmal.
      """,
    deviceFull: "Dieses Gerät ist schon registriert. Melden Sie sich bei einem Ihrer Konten an.",
    deviceGone: """
      Ihr Konto hat dieses Gerät nicht. Laden Sie die Liste neu, oder melden Sie sich auf dem Gerät \
      an.
      """,
    otherDevice: "Sie sind auf einem anderen Gerät angemeldet. Melden Sie sich auf diesem neu an.",

    usePasskey: "Melden Sie sich mit Ihrem Passkey an, oder lassen Sie sich einen Code mailen.",
    passkeyRefused: """
      Der Passkey wurde nicht angenommen. Versuchen Sie es noch einmal, oder melden Sie sich mit \
      einem per E-Mail gesendeten Code an.
      """,
    passkeyWaits: """
      Der Passkey ist hinzugefügt. Sie können sich damit anmelden, sobald Sie Ihre Adresse bestätigt \
      haben: Öffnen Sie den Link, den wir Ihnen gemailt haben.
      """,
    passkeyNotAdded: "Der Passkey wurde nicht angenommen. Fügen Sie ihn noch einmal hinzu.",
    passkeyTaken: "Dieser Passkey wird schon benutzt. Fügen Sie einen anderen hinzu.",
    passkeyGone: "Diesen Passkey gibt es nicht mehr. Laden Sie die Liste neu.",
    tooManyPasskeys: """
      Ihr Konto hat schon so viele Passkeys, wie es haben darf. Entfernen Sie zuerst einen.
      """,
    noBiometricKey: """
      Auf diesem Gerät ist die Anmeldung mit Gesicht oder Fingerabdruck nicht eingerichtet. Melden \
      Sie sich zuerst mit einem Code an.
      """,
    noPaymentKey: """
      Auf diesem Gerät können Sie noch nicht bezahlen. Schalten Sie in der App Gesicht oder \
      Fingerabdruck ein, oder bestätigen Sie mit einem Passkey.
      """,
    keyTooNew: """
      Der Schlüssel dieses Geräts für Gesicht oder Fingerabdruck ist neu. Melden Sie sich mit \
      einem Code per E-Mail oder einem Passkey an und bestätigen Sie dann die Zahlung, oder warten \
      Sie einen Tag.
      """,
    keyInUse: """
      Dieser Schlüssel gehört auf diesem Telefon zu einem anderen Konto. Erzeugen Sie einen \
      neuen, oder aktualisieren Sie die App.
      """,
    biometricsRefused: """
      Ihr Gesicht oder Fingerabdruck wurde nicht angenommen. Versuchen Sie es noch einmal, oder \
      melden Sie sich mit einem Code an.
      """,

    unknownBank: "Diese Bank lässt sich hier nicht hinzufügen. Wählen Sie eine andere.",
    enrollmentGone: "Diese Bank ist nicht mehr in Ihrer Wallet. Laden Sie die Liste neu.",
    enrollmentExpired:
      "Dieser Vorgang ist abgelaufen oder war schon beendet. Bitte beginnen Sie von vorn.",
    enrollmentCancelled:
      "Die Bank wurde nicht hinzugefügt. Beginnen Sie von vorn, wenn Sie es doch möchten.",
    enrollmentRefused: "Die Bank hat abgelehnt. Bitte beginnen Sie von vorn.",
    bankUnavailable:
      "Die Bank ist im Moment nicht erreichbar. Bitte versuchen Sie es später noch einmal.",
    noAnswerOfBank: """
      Die Antwort kam nicht rechtzeitig, und nichts wurde gespeichert. Bitte versuchen Sie es noch \
      einmal.
      """,
    cardGone: "Diese Karte gibt es nicht mehr. Laden Sie die Liste neu.",
    notACurrency: "Die Währung muss eine nach ISO 4217 sein, zum Beispiel CAD.",
    amountOutOfRange: """
      Geben Sie einen Betrag über null ein, höchstens 9999999999, mit nicht mehr Nachkommastellen, \
      als seine Währung hat.
      """,
    paymentGone: """
      Diese Zahlung gibt es nicht, oder sie ist abgelaufen. Beginnen Sie noch einmal.
      """,
    paymentConfirmed: "Diese Zahlung ist schon bestätigt. Sie müssen nichts tun.",
    paymentNotConfirmed: "Die Zahlung wurde nicht bestätigt. Versuchen Sie es noch einmal.",
    paymentClosed: """
      Diese Zahlung wurde abgebrochen, oder ihre Zeit ist abgelaufen. Gehen Sie zurück zum Shop \
      und beginnen Sie von vorn.
      """,
    paymentTaken: """
      Diese Zahlung übernimmt schon eine andere Person. Gehen Sie zurück zum Shop, wenn Sie zahlen \
      möchten.
      """,
    cardExpired: """
      Diese Karte ist abgelaufen. Wählen Sie eine andere, oder fügen Sie Ihre Bank noch einmal \
      hinzu.
      """,
    amountOverLimit: "Der Shop darf einen so großen Betrag nicht annehmen. Fragen Sie den Shop.",
    addressNotProven: """
      Bestätigen Sie zuerst Ihre Adresse: Öffnen Sie den Link, den wir Ihnen geschickt haben, oder \
      melden Sie sich mit einem Code per E-Mail an. Danach können Sie zahlen.
      """)
}
