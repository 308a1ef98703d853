extension MailTexts {
  static let german = MailTexts(
    codeIs: "Ihr Anmeldecode ist",
    loginCode: Text(
      "Ihr Anmeldecode",
      """
      Geben Sie ihn innerhalb von fünf Minuten dort ein, wo Sie ihn angefordert haben. Er gilt \
      einmal und nur dort. Wenn Sie ihn nicht angefordert haben, müssen Sie nichts tun: Ohne \
      den Code kann sich niemand anmelden.
      """),
    handsOver: """
      Diese Adresse hat noch niemand bestätigt. Der Code tut das, und er meldet das Telefon ab, auf dem das Konto \
      angelegt wurde, wenn Sie ihn nicht dort eingeben, solange es angemeldet ist. Damit es angemeldet bleibt, öffnen \
      Sie zuerst die Nachricht „Sind Sie das?“ und sagen Sie Ja.
      """,
    confirmation: Text(
      "Sind Sie das?",
      """
      Jemand hat mit Ihrer E-Mail-Adresse ein Konto angelegt. Bitte sagen Sie uns auf dieser Seite, ob Sie \
      das waren. Wenn nicht, wird das Konto gelöscht. Bis Sie Ja sagen, meldet die erste Anmeldung mit einem gemailten \
      Code auf einem anderen Gerät das Telefon ab, auf dem das Konto angelegt wurde.
      """),
    newDevice: Text(
      "Ihr Konto wird auf einem neuen Gerät benutzt",
      "Jemand hat sich bei Ihrem Konto auf einem Gerät angemeldet, auf dem es bisher nicht benutzt wurde."
    ),
    passkeyAdded: Text(
      "Ihr Konto hat einen neuen Passkey",
      "Jemand hat zu Ihrem Konto einen Passkey hinzugefügt. Wer ihn hat, kann sich anmelden."),
    biometricKeyAdded: Text(
      "Anmeldung mit Gesicht oder Fingerabdruck eingeschaltet",
      "Jemand hat für Ihr Konto auf einem Gerät die Anmeldung mit Gesicht oder Fingerabdruck eingeschaltet."
    ),
    refreshReused: Text(
      "Wir haben eines Ihrer Geräte abgemeldet",
      """
      Jemand hat einen Schlüssel dieses Geräts ein zweites Mal benutzt. Vielleicht wurde er kopiert, deshalb \
      haben wir das Gerät abgemeldet. Bitte melden Sie sich dort neu an.
      """),
    addressChange: Text(
      "Ihre neue E-Mail-Adresse",
      """
      Jemand möchte diese E-Mail-Adresse für sein Konto benutzen. Wenn Sie das waren, \
      bestätigen Sie es innerhalb eines Tages auf dieser Seite. Wenn nicht, müssen Sie nichts \
      tun: Die Adresse wird dann nicht benutzt.
      """),
    addressChangeBegun: Text(
      "Eine andere E-Mail-Adresse wurde verlangt",
      """
      Jemand, der bei Ihrem Konto angemeldet ist, möchte ihm eine andere E-Mail-Adresse geben. Das Konto \
      bekommt sie, wenn dort innerhalb eines Tages jemand zustimmt. Codes und Nachrichten gehen dann dorthin.
      """),
    addressChanged: Text(
      "Ihr Konto hat eine neue E-Mail-Adresse",
      """
      Ihr Konto hat jetzt eine andere E-Mail-Adresse. Codes und Nachrichten gehen dorthin und \
      nicht mehr an diese Adresse. Wenn Sie das nicht waren, bitten Sie gleich die Betreiber \
      dieser Seite um Hilfe.
      """),
    deviceRenewed: Text(
      "Ein Gerät wurde neu registriert",
      """
      Jemand, der auf einem Gerät bei Ihrem Konto angemeldet ist, hat das Gerät neu \
      registriert. Er bleibt dort angemeldet; weiter öffnet das Ihr Konto nicht.
      """),
    accountDeleted: Text(
      "Ihr Konto ist gelöscht",
      """
      Ihr Konto ist gelöscht, mit allem, was dazugehörte. Wenn Sie das nicht waren, bitten Sie \
      gleich die Betreiber dieser Seite um Hilfe.
      """),
    browserSignedIn: Text(
      "Ihr Konto wurde in einem Browser geöffnet",
      """
      Jemand hat sich auf der Seite angemeldet, auf der man Ihre Geräte, Passkeys und E-Mail-Adresse ändern kann.
      """),
    keysRemoved: Text(
      "Schlüssel zum Anmelden wurden aus Ihrem Konto entfernt",
      """
      Jemand hat einen Passkey oder das Anmelden mit Gesicht oder Fingerabdruck aus Ihrem Konto entfernt. Mit \
      einem Code per E-Mail können Sie sich weiterhin anmelden.
      """),
    accountBanned: Text(
      "Ihr Konto ist gesperrt",
      """
      Die Betreiber dieser Seite haben Ihr Konto gesperrt. Sie sind überall abgemeldet, und niemand kann \
      sich anmelden. Gelöscht ist nichts. Wenn Sie das für falsch halten, fragen Sie die Betreiber dieser \
      Seite.
      """),
    accountUnbanned: Text(
      "Ihr Konto ist wieder offen",
      """
      Die Betreiber dieser Seite haben die Sperre Ihres Kontos aufgehoben. Sie können sich wie zuvor \
      anmelden, und alles ist noch da.
      """),
    addressProven: Text(
      "Ihre Adresse ist bestätigt",
      "Ihre E-Mail-Adresse ist bestätigt. Damit kann Ihr Konto benutzt werden:"),
    removeAll: "Wenn Sie eines davon nicht kennen, entfernen Sie hier alle und melden sich neu an:",
    biometricKey: "Gesicht oder Fingerabdruck", passkey: "Passkey",
    ifItWasNotYou: "Wenn Sie das nicht waren, machen Sie es hier rückgängig:",
    device: "Gerät", address: "Von", time: "Wann")
}
