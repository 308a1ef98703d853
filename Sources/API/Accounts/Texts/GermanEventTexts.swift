extension EventTexts {
  static let german = EventTexts(
    sentence: { event in
      switch event {
      case .accountBanned: "Die Betreiber dieser Seite haben das Konto gesperrt."
      case .accountConfirmed: "Das Konto wurde als Ihres bestätigt."
      case .accountCreated: "Das Konto wurde angelegt."
      case .accountDeleted: "Das Konto wurde gelöscht."
      case .accountDenied: "Das Konto wurde abgelehnt und gelöscht."
      case .accountHandedOver:
        "Die Adresse wurde nachgewiesen. Frühere Anmeldungen und Schlüssel endeten."
      case .accountUnbanned: "Die Betreiber dieser Seite haben das Konto wieder geöffnet."
      case .addressChangeBegun: "Eine andere E-Mail-Adresse wurde gewünscht."
      case .addressChanged: "Die E-Mail-Adresse wurde geändert."
      case .biometricDisabled: "Die Anmeldung mit Gesicht oder Fingerabdruck wurde ausgeschaltet."
      case .biometricEnabled: "Die Anmeldung mit Gesicht oder Fingerabdruck wurde eingeschaltet."
      case .biometricLocked:
        "Die Anmeldung mit Gesicht oder Fingerabdruck wurde nach zu vielen falschen Versuchen gesperrt."
      case .biometricRefused: "Ein Gesicht oder Fingerabdruck wurde nicht angenommen."
      case .codeDead: "Ein Anmeldecode endete nach zu vielen falschen Versuchen."
      case .codeRefused: "Ein falscher Anmeldecode wurde eingegeben."
      case .codeRequested: "Ein Anmeldecode wurde angefordert."
      case .credentialRefused: "Ein Gerät konnte nicht zeigen, dass es Ihres ist."
      case .deviceRegistered: "Ein Gerät wurde neu registriert."
      case .deviceRenamed: "Ein Gerät wurde umbenannt."
      case .deviceRevoked: "Ein Gerät wurde entfernt."
      case .emailProven: "Die E-Mail-Adresse wurde nachgewiesen."
      case .logout: "Ein Gerät oder Browser wurde abgemeldet."
      case .passkeyAdded: "Ein Passkey wurde hinzugefügt."
      case .passkeyCloned: "Ein Passkey wurde abgelehnt, weil er kopiert sein könnte."
      case .passkeyRefused: "Ein Passkey wurde nicht angenommen."
      case .passkeyRemoved: "Ein Passkey wurde entfernt."
      case .passkeyRenamed: "Ein Passkey wurde umbenannt."
      case .profileChanged: "Der Name wurde geändert."
      case .pushTokenRemoved: "Benachrichtigungen wurden auf einem Gerät ausgeschaltet."
      case .pushTokenSet: "Benachrichtigungen wurden für ein Gerät eingeschaltet."
      case .refreshRefused:
        "Eine Anmeldung wurde zweimal zugleich erneuert, und ein Versuch wurde abgelehnt."
      case .refreshRepeated:
        "Eine App hat eine Erneuerung noch einmal verlangt, wie nach einer verlorenen Antwort."
      case .refreshReuse:
        "Ein Schlüssel wurde ein zweites Mal benutzt, deshalb wurde sein Gerät abgemeldet."
      case .refreshed: "Eine Anmeldung wurde erneuert."
      case .signIn: "Jemand hat sich angemeldet."
      case .signInRefused: "Eine Anmeldung wurde abgelehnt."
      case .preferencesWritten: "Einstellungen wurden geändert."
      case .keyBound: "Eine App hat gezeigt, dass sie echt ist."
      case .writeRefused:
        "Eine Änderung wurde abgelehnt, weil die App nicht zeigen konnte, dass sie echt ist."
      case .bankEnrolled: "Eine Bank wurde hinzugefügt."
      case .bankEnrollmentBegun: "Jemand hat begonnen, eine Bank hinzuzufügen."
      case .bankRefused: "Eine Bank wurde nicht hinzugefügt."
      case .cardDefault: "Eine andere Karte wurde als erste gewählt."
      case .cardRemoved: "Eine Karte wurde entfernt."
      case .enrollmentRemoved: "Eine Bank und ihre Karten wurden entfernt."
      case .paymentBegun: "Eine Zahlung wurde begonnen."
      case .paymentCancelled: "Eine Zahlung wurde abgebrochen."
      case .paymentConfirmed: "Eine Zahlung wurde bestätigt."
      case .paymentRefunded: "Der Shop hat eine Zahlung erstattet."
      case .paymentRefused: "Eine Zahlung wurde nicht bestätigt."
      }
    },
    other: "Etwas anderes ist geschehen.",
    byAdministrator: "Das haben die Betreiber dieser Seite getan.",
    byLink: "Der Link in einer E-Mail wurde benutzt.",
    inBrowser: "In einem Browser, auf dieser Seite.", reason: "Grund:")
}
