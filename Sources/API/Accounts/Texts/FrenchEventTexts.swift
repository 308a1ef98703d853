extension EventTexts {
  static let french = EventTexts(
    sentence: { event in
      switch event {
      case .accountBanned: "Les responsables de ce site ont bloqué le compte."
      case .accountConfirmed: "Vous avez confirmé que le compte est le vôtre."
      case .accountCreated: "Le compte a été créé."
      case .accountDeleted: "Le compte a été supprimé."
      case .accountDenied: "Le compte a été refusé, puis supprimé."
      case .accountHandedOver:
        "L’adresse a été prouvée. Les connexions et les clés antérieures ont pris fin."
      case .accountUnbanned: "Les responsables de ce site ont débloqué le compte."
      case .addressChangeBegun: "Une autre adresse e-mail a été demandée."
      case .addressChanged: "L’adresse e-mail a été modifiée."
      case .biometricDisabled: "La connexion par visage ou empreinte a été désactivée."
      case .biometricEnabled: "La connexion par visage ou empreinte a été activée."
      case .biometricLocked:
        "La connexion par visage ou empreinte a été bloquée après trop d’essais erronés."
      case .biometricRefused: "Un visage ou une empreinte n’a pas été accepté."
      case .codeDead: "Un code de connexion a pris fin après trop d’essais erronés."
      case .codeRefused: "Un code de connexion erroné a été saisi."
      case .codeRequested: "Un code de connexion a été demandé."
      case .credentialRefused: "Un appareil n’a pas pu montrer qu’il est à vous."
      case .deviceRegistered: "Un appareil a été enregistré de nouveau."
      case .deviceRenamed: "Un appareil a été renommé."
      case .deviceRevoked: "Un appareil a été retiré."
      case .emailProven: "L’adresse e-mail a été prouvée."
      case .logout: "Un appareil ou un navigateur a été déconnecté."
      case .passkeyAdded: "Une clé d’accès a été ajoutée."
      case .passkeyCloned: "Une clé d’accès a été refusée, car elle a peut-être été copiée."
      case .passkeyRefused: "Une clé d’accès n’a pas été acceptée."
      case .passkeyRemoved: "Une clé d’accès a été retirée."
      case .passkeyRenamed: "Une clé d’accès a été renommée."
      case .profileChanged: "Le nom a été modifié."
      case .pushTokenRemoved: "Les notifications ont été désactivées sur un appareil."
      case .pushTokenSet: "Les notifications ont été activées pour un appareil."
      case .refreshRefused:
        "Une connexion a été renouvelée deux fois en même temps, et un essai a été refusé."
      case .refreshRepeated:
        "Une appli a redemandé un renouvellement, comme après une réponse perdue."
      case .refreshReuse:
        "Une clé a servi une seconde fois, et son appareil a donc été déconnecté."
      case .refreshed: "Une connexion a été renouvelée."
      case .signIn: "Quelqu’un s’est connecté."
      case .signInRefused: "Une connexion a été refusée."
      case .preferencesWritten: "Des réglages ont été modifiés."
      case .keyBound: "Une application a montré qu’elle est authentique."
      case .writeRefused:
        "Une modification a été refusée : l’application n’a pas pu montrer qu’elle est authentique."
      case .bankEnrolled: "Une banque a été ajoutée."
      case .bankEnrollmentBegun: "Quelqu’un a commencé à ajouter une banque."
      case .bankRefused: "Une banque n’a pas été ajoutée."
      case .cardDefault: "Une autre carte a été choisie comme carte principale."
      case .cardRemoved: "Une carte a été retirée."
      case .enrollmentRemoved: "Une banque et ses cartes ont été retirées."
      case .paymentBegun: "Un paiement a été commencé."
      case .paymentCancelled: "Un paiement a été annulé."
      case .paymentConfirmed: "Un paiement a été confirmé."
      case .paymentRefunded: "La boutique a remboursé un paiement."
      case .paymentRefused: "Un paiement n’a pas été confirmé."
      }
    },
    other: "Autre chose s’est produit.",
    byAdministrator: "Par les responsables de ce site.",
    byLink: "Par le lien d’un e-mail.", inBrowser: "Dans un navigateur, sur cette page.",
    reason: "Motif :")
}
