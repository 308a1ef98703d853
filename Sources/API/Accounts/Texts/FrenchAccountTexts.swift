extension AccountTexts {
  static let french = AccountTexts(
    title: "Votre compte",
    intro: """
      Consultez, modifiez et supprimez ce que ce site sait de vous. Connectez-vous avec un code que nous envoyons à \
      l’adresse de votre compte, ou avec une clé d’accès.
      """,
    email: "Adresse e-mail", mailCode: "Recevoir un code", withPasskey: "Avec une clé d’accès",
    passkeyButton: "Se connecter avec une clé d’accès",
    passkeyNeedsScript: """
      Une clé d’accès a besoin de JavaScript, que votre navigateur a désactivé. Connectez-vous avec un code.
      """,
    noPasskey: "Votre navigateur n’a donné aucune clé d’accès. Réessayez, ou demandez un code.",
    codeTitle: "Saisissez le code",
    codeIntro: """
      Si un compte a cette adresse, nous y avons envoyé un code à six chiffres. Il est valable cinq minutes.
      """,
    code: "Code reçu par e-mail", signIn: "Se connecter", startAgain: "Recommencer",
    signInAgain: "Reconnectez-vous",
    signedInAs: "Connecté en tant que", signOut: "Se déconnecter", about: "Nom et adresse",
    name: "Votre nom", changeName: "Changer le nom", changeAddress: "Changer l’adresse",
    addressRule: """
      Nous envoyons un lien à la nouvelle adresse. Elle compte dès que vous utilisez le lien.
      """,
    pendingAddress: Pattern {
      "Nous avons envoyé un lien à \($0). L’adresse compte dès que vous utilisez le lien."
    },
    everything: "Tout le compte", download: "Télécharger ce que nous gardons pour votre compte",
    delete: "Supprimer votre compte", thisBrowser: "(ce navigateur)",
    unknownAddress: "Adresse inconnue", notSignedIn: "non",
    signedInUntil: Pattern { "jusqu’au \($0)" },
    keep: "Conserver", onlySignOut: "Déconnecter seulement",
    deletionTitle: "Supprimer votre compte ?",
    deletionIntro: Pattern {
      """
      Cela supprime le compte de \($0) : appareils, clés d’accès, banques, cartes et réglages. C’est irréversible. Les \
      traces des paiements restent, sans votre nom.
      """
    },
    deleteButton: "Supprimer mon compte", keepAccount: "Conserver mon compte",
    notes: Notes(
      nameChanged: "Votre nom est modifié.",
      linkMailed: """
        Nous avons envoyé un lien à cette adresse. Votre compte la prend dès que vous utilisez le lien.
        """,
      signedOut: "Vous êtes déconnecté.", deleted: "Votre compte est supprimé.",
      stale: "Rien n’a été modifié, car cette page n’était plus à jour. Veuillez réessayer.",
      signInFirst: "Rien n’a été modifié. Veuillez d’abord vous connecter.",
      gone: "Cela n’existe plus.",
      proofTooOld: """
        Votre connexion date de plus de dix minutes. Veuillez vous reconnecter, puis recommencer.
        """),
    devices: .init(
      title: "Appareils", none: "Aucun appareil ne s’est connecté.",
      facts: [
        "platform": "Plateforme", "createdAt": "Depuis", "lastUsedAt": "Dernier usage",
        "signedInUntil": "Connecté",
      ],
      removal: .init(
        button: "Retirer", question: "Retirer cet appareil ?",
        consequence: """
          Il est déconnecté, et la connexion par visage ou empreinte y prend fin. Il peut se reconnecter avec un code.
          """,
        done: "L’appareil est retiré et déconnecté.")),
    browsers: .init(
      title: "Navigateurs sur cette page", none: "Aucun navigateur n’est connecté.",
      facts: ["signedInAt": "Depuis", "expiresAt": "Jusqu’au"],
      removal: .init(
        button: "Déconnecter", question: "Déconnecter ce navigateur ?",
        consequence: "Personne ne peut y utiliser votre compte sans se reconnecter.",
        done: "Le navigateur est déconnecté.")),
    passkeys: .init(
      title: "Clés d’accès", none: "Il n’y a pas de clé d’accès.",
      facts: ["createdAt": "Depuis", "lastUsedAt": "Dernier usage"],
      removal: .init(
        button: "Retirer", question: "Retirer cette clé d’accès ?",
        consequence: """
          Personne ne peut plus se connecter avec elle. Vous pouvez toujours vous connecter avec un code.
          """,
        done: "La clé d’accès est retirée.")),
    events: .init(
      title: "Ce qui s’est passé", none: "Il ne s’est encore rien passé.", facts: [:]),
    signedOutDevice: "L’appareil est déconnecté.")
}

extension LinkTexts {
  static let french = LinkTexts(
    isThisYou: "Est-ce bien vous ?",
    somebodyCreated: "Quelqu’un a créé un compte avec votre adresse e-mail.",
    address: "Adresse", phone: "Téléphone", when: "Quand", from: "Depuis",
    thisIsMe: "Oui, c’est moi", thisIsNotMe: "Non, ce n’est pas moi",
    creationRule: """
      Si vous répondez non, le compte est supprimé. Tant que vous n’avez pas répondu oui, la première connexion sur un \
      autre appareil avec un code reçu par e-mail déconnecte le téléphone ci-dessus.
      """,
    thanks: "Merci", confirmed: "Votre adresse est confirmée. Vous pouvez fermer cette page.",
    denied: "Le compte est supprimé",
    nobodyUses: "Plus personne ne peut l’utiliser. Vous n’avez rien d’autre à faire.",
    nothingToConfirm: "Rien à confirmer",
    usedBefore: "Ce lien a déjà servi, ou le compte n’existe plus.",
    useAddress: "Utiliser cette adresse ?",
    somebodyWants: "Quelqu’un qui est connecté à ce compte veut lui donner la nouvelle adresse :",
    newAddress: "Nouvelle adresse", name: "Nom du compte", noPhone: "aucun n’est connecté",
    accountSince: "Compte depuis",
    onlyIfYours: """
      Ne continuez que si ce compte est le vôtre. Vous vous y connecterez alors avec cette adresse, et les codes y seront \
      envoyés.
      """,
    useButton: "Utiliser cette adresse",
    otherwise: """
      Si vous ne connaissez pas ce compte, ou n’avez rien demandé, fermez la page. Rien ne change alors. Sinon, vos \
      connexions ouvriraient le compte de quelqu’un d’autre, qui verrait ce que vous y faites.
      """,
    addressChanged: "Votre adresse est modifiée",
    hasNewAddress: "Votre compte a maintenant la nouvelle adresse. Vous pouvez fermer cette page.",
    nothingToChange: "Rien à modifier",
    addressGone: """
      Ce lien a déjà servi ou est trop ancien, ou un autre compte a pris cette adresse. Demandez de nouveau la nouvelle \
      adresse, ou une autre.
      """,
    wasThisNotYou: "Ce n’était pas vous ?", device: "Appareil", signedIn: "Connecté",
    endDevice: "Déconnecter cet appareil", endBrowsers: "Déconnecter tous les navigateurs",
    ifItWasYou: "Si c’était vous, fermez cette page.",
    passkeyGoesToo: "Sinon, la clé d’accès ajoutée est retirée aussi.", undone: "C’est annulé",
    deviceOut: """
      L’appareil est déconnecté. Personne ne peut y utiliser votre compte sans se reconnecter.
      """,
    passkeyRemoved: "La clé d’accès est retirée.",
    browsersOut: "Les navigateurs sont déconnectés.",
    watchYourMail: """
      Si vous ne savez pas qui c’était, assurez-vous que personne d’autre ne lit vos e-mails.
      """,
    keepAddress: "Garder l’adresse actuelle",
    askerGoesToo: "Sinon, l’appareil ou le navigateur qui l’a demandé est déconnecté aussi.",
    addressStays: "L’adresse reste inchangée.",
    hasAccess: "Voici ce qui peut utiliser le compte à présent :",
    biometricKey: "Visage ou empreinte", passkey: "Clé d’accès", removeAll: "Tout retirer",
    allGo: """
      Sinon, tout est retiré et les appareils sont déconnectés. Reconnectez-vous ensuite avec un code.
      """,
    allRemoved: "Tout est retiré.",
    nothingToEnd: "Rien à terminer",
    outAlready: "La connexion est déjà terminée, ou le compte n’existe plus.")
}
