extension Messages {
  static let french = Messages(
    noCredentials: "Vous n’êtes pas connecté. Connectez-vous, puis réessayez.",
    invalidToken: "Votre connexion a expiré. Reconnectez-vous.",
    invalidDeviceCredential:
      "L’application n’a pas pu prouver que cet appareil est le vôtre. Reconnectez-vous.",
    freshProofRequired: """
      Veuillez vous reconnecter avec un code reçu par e-mail ou une clé d’accès, puis recommencez.
      """,
    accountBanned: "Ce compte est bloqué. Adressez-vous aux responsables de ce site.",
    unknownRequest: """
      L’application a demandé quelque chose qui n’existe pas ici. Mettez-la à jour, puis réessayez.
      """,
    payloadTooLarge: """
      L’application a trop envoyé à la fois. Envoyez-en moins, ou mettez l’application à jour, puis \
      réessayez.
      """,
    tooManyRequests: "Vous avez essayé trop souvent. Attendez un moment, puis réessayez.",
    unavailable:
      "Nous ne pouvons pas répondre pour le moment. Réessayez dans quelques secondes.",
    serverError: "Une erreur s’est produite de notre côté. Réessayez plus tard.",

    bodyIncomplete: "La demande est arrivée incomplète. Réessayez.",
    invalidJSON: """
      Ce que l’application a envoyé n’est pas du JSON valide. Mettez l’application à jour, puis \
      réessayez.
      """,
    noObject:
      "L’application n’a pas envoyé d’objet JSON. Mettez-la à jour, puis réessayez.",
    email: Entry("L’adresse e-mail", "Saisissez votre adresse e-mail."),
    name: Entry("Le nom", "Saisissez un nom."),
    code: Entry("Le code", "Saisissez le code reçu par e-mail."),
    sentValue: Pattern { "La valeur « \($0) »" },
    tooLong: Pattern {
      "\($0) dépasse la longueur permise. Raccourcissez le texte, puis réessayez."
    },
    hasControls: Pattern {
      "\($0) contient des caractères impossibles à afficher. Supprimez-les, puis réessayez."
    },
    notSent: Pattern {
      """
      L’application n’a pas envoyé la valeur « \($0) ». Mettez l’application à jour, puis réessayez.
      """
    },
    wrong: Pattern {
      """
      L’application a envoyé une valeur « \($0) » incorrecte. Mettez l’application à jour, puis \
      réessayez.
      """
    },
    notAnEmailAddress: """
      Cette adresse e-mail n’est pas valide. Saisissez une adresse comme name@example.org.
      """,
    addressNotASCII: """
      L’adresse contient une lettre accentuée ou d’une autre écriture. Saisissez une adresse en \
      lettres simples ; un domaine dans une autre écriture a une forme qui commence par xn--.
      """,
    unknownPlatform: Pattern {
      """
      La plateforme doit être l’une de celles-ci : \($0). Mettez l’application à jour, puis réessayez.
      """
    },

    accountExists: "Un compte avec cette adresse e-mail existe déjà. Connectez-vous plutôt.",
    confirmAddress: """
      Nous vous avons envoyé un lien. Ouvrez-le et confirmez que le compte est le vôtre. Sinon, votre \
      première connexion sur un autre appareil avec un code reçu par e-mail déconnectera ce téléphone.
      """,
    accountGone: """
      Ce compte n’existe plus. Connectez-vous à un autre compte, ou créez-en un nouveau.
      """,
    codeSent: """
      Si un compte utilise cette adresse, nous y avons envoyé un code. Saisissez ce code dans \
      les cinq minutes.
      """,
    codeMailed: """
      Nous vous avons envoyé un code par e-mail. Saisissez-le ici à la place du mot de passe.
      """,
    wrongCode: """
      Ce code est faux ou trop ancien. Saisissez le plus récent, ou demandez-en un autre.
      """,
    invalidRefreshToken: "Votre connexion a expiré. Reconnectez-vous.",
    refreshedElsewhere: "Votre connexion a été renouvelée deux fois en même temps. Réessayez.",

    foreignForm: "Ce formulaire ne vient pas de la page de ce site. Ouvrez la page de nouveau.",
    formIncomplete: "Le formulaire est arrivé incomplet. Ouvrez la page de nouveau.",
    wrongPageCode:
      "Ce code est faux ou trop ancien. Saisissez le plus récent, ou recommencez depuis le début.",
    pagePasskeyRefused: """
      La clé d’accès n’a pas été acceptée. Essayez-en une autre, ou demandez un code.
      """,
    noForm: "La page n’a pas envoyé de formulaire. Revenez en arrière et réessayez.",
    foreignEnrollmentForm:
      "Ce formulaire vient d’un autre site. Ouvrez l’application et recommencez.",
    foreignAddress: """
      On n’associe des téléphones que depuis cette machine et depuis les adresses que les responsables de ce site ont \
      indiquées.
      """,
    foreignPage: "Ouvrez cette page sous le nom ou l’adresse du site.",
    noTokensHere: "Aucune connexion n’est nécessaire ici. Utilisez l’application sans code.",
    phoneNameRule: """
      Saisissez un nom d’au plus 64 caractères, sans caractères de contrôle. Un nom vide retire l’ancien.
      """,

    unknownDevice: """
      Cet appareil n’est pas encore enregistré. Redémarrez l’application, puis réessayez.
      """,
    deviceFull: "Cet appareil est déjà enregistré. Connectez-vous plutôt à l’un de vos comptes.",
    deviceGone: """
      Votre compte n’a pas cet appareil. Rechargez la liste, ou connectez-vous sur l’appareil.
      """,
    otherDevice: "Vous êtes connecté sur un autre appareil. Reconnectez-vous sur celui-ci.",

    usePasskey: "Connectez-vous avec votre clé d’accès, ou demandez un code par e-mail.",
    passkeyRefused: """
      La clé d’accès n’a pas été acceptée. Réessayez, ou connectez-vous avec un code reçu par e-mail.
      """,
    passkeyWaits: """
      La clé d’accès est ajoutée. Vous pourrez l’utiliser dès que vous aurez confirmé votre adresse : \
      ouvrez le lien que nous vous avons envoyé.
      """,
    passkeyNotAdded: "La clé d’accès n’a pas été acceptée. Ajoutez-la de nouveau.",
    passkeyTaken: "Cette clé d’accès est déjà utilisée. Ajoutez-en une autre.",
    passkeyGone: "Cette clé d’accès n’existe plus. Rechargez la liste.",
    tooManyPasskeys: """
      Votre compte a déjà le nombre maximal de clés d’accès. Supprimez-en une d’abord.
      """,
    noBiometricKey: """
      La connexion par visage ou empreinte n’est pas activée sur cet appareil. Connectez-vous \
      d’abord avec un code.
      """,
    noPaymentKey: """
      Cet appareil ne peut pas encore confirmer de paiement. Activez le visage ou l’empreinte dans \
      l’application, ou confirmez avec une clé d’accès.
      """,
    keyTooNew: """
      La clé de cet appareil pour le visage ou l’empreinte est récente. Connectez-vous avec un \
      code reçu par e-mail ou une clé d’accès, puis confirmez le paiement, ou attendez un jour.
      """,
    keyInUse: """
      Cette clé appartient à un autre compte sur ce téléphone. Créez-en une nouvelle, ou mettez \
      l’application à jour.
      """,
    biometricsRefused: """
      Votre visage ou votre empreinte n’a pas été accepté. Réessayez, ou connectez-vous avec un code.
      """,

    unknownBank: "Cette banque ne peut pas être ajoutée ici. Choisissez-en une autre.",
    enrollmentGone: "Cette banque n’est plus dans votre portefeuille. Rechargez la liste.",
    enrollmentExpired:
      "Cette demande a expiré ou a déjà servi. Veuillez recommencer.",
    enrollmentCancelled:
      "La banque n’a pas été ajoutée. Recommencez si vous voulez l’ajouter.",
    enrollmentRefused: "La banque a refusé l’ajout. Veuillez recommencer.",
    bankUnavailable: "La banque est injoignable pour le moment. Veuillez réessayer plus tard.",
    noAnswerOfBank: """
      La réponse n’est pas arrivée à temps, et rien n’a été enregistré. Veuillez réessayer.
      """,
    cardGone: "Cette carte n’existe plus. Rechargez la liste.",
    notACurrency: "La monnaie doit être l’une de la norme ISO 4217, par exemple CAD.",
    amountOutOfRange: """
      Saisissez un montant supérieur à zéro, de 9999999999 au plus, sans plus de décimales que \
      n’en a sa monnaie.
      """,
    paymentGone: "Ce paiement n’existe pas ou a expiré. Recommencez-le.",
    paymentConfirmed: "Ce paiement est déjà confirmé. Vous n’avez rien à faire.",
    paymentNotConfirmed: "Le paiement n’a pas été confirmé. Réessayez.",
    paymentClosed: """
      Ce paiement a été annulé, ou son délai est écoulé. Revenez à la boutique et recommencez.
      """,
    paymentTaken: """
      Une autre personne règle déjà ce paiement. Revenez à la boutique si vous voulez payer.
      """,
    cardExpired: """
      Cette carte a expiré. Choisissez-en une autre, ou ajoutez de nouveau votre banque.
      """,
    amountOverLimit: """
      La boutique ne peut pas encaisser un montant aussi élevé. Demandez à la boutique.
      """,
    addressNotProven: """
      Confirmez d’abord votre adresse : ouvrez le lien que nous vous avons envoyé, ou \
      connectez-vous avec un code reçu par e-mail. Vous pourrez ensuite payer.
      """)
}
