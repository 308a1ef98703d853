extension MailTexts {
  static let french = MailTexts(
    codeIs: "Votre code de connexion est",
    loginCode: Text(
      "Votre code de connexion",
      """
      Saisissez-le dans les cinq minutes, là où vous l’avez demandé. Il sert une seule fois, \
      et seulement là. Si vous ne l’avez pas demandé, vous n’avez rien à faire : sans ce code, \
      personne ne peut se connecter.
      """),
    handsOver: """
      Personne n’a encore confirmé cette adresse. Ce code la confirme et déconnecte le téléphone sur lequel le \
      compte a été créé, sauf si vous le saisissez sur ce téléphone tant qu’il est connecté. Pour que celui-ci reste \
      connecté, ouvrez d’abord l’e-mail « Est-ce bien vous ? » et répondez oui.
      """,
    confirmation: Text(
      "Est-ce bien vous ?",
      """
      Quelqu’un a créé un compte avec votre adresse e-mail. Dites-nous sur cette page si c’était vous. Si \
      vous répondez non, le compte est supprimé. \
      Tant que vous n’avez pas répondu oui, la première connexion sur un autre appareil avec un code reçu par e-mail \
      déconnecte le téléphone sur lequel le compte a été créé.
      """),
    newDevice: Text(
      "Votre compte est utilisé sur un nouvel appareil",
      "Quelqu’un s’est connecté à votre compte sur un appareil où il n’avait jamais été utilisé."),
    passkeyAdded: Text(
      "Une clé d’accès a été ajoutée à votre compte",
      "Quelqu’un a ajouté une clé d’accès à votre compte. Qui la possède peut se connecter."),
    biometricKeyAdded: Text(
      "Connexion par visage ou empreinte activée",
      "Quelqu’un a activé la connexion par visage ou empreinte à votre compte sur un appareil."),
    refreshReused: Text(
      "Nous avons déconnecté un de vos appareils",
      """
      Quelqu’un a utilisé une seconde fois une clé de cet appareil. Elle a peut-être été copiée ; nous avons \
      donc déconnecté l’appareil. Veuillez vous y reconnecter.
      """),
    addressChange: Text(
      "Votre nouvelle adresse e-mail",
      """
      Quelqu’un veut utiliser cette adresse e-mail pour son compte. Si c’était vous, \
      confirmez-le sur cette page dans la journée. Sinon, vous n’avez rien à faire : l’adresse \
      ne sera pas utilisée.
      """),
    addressChangeBegun: Text(
      "Une autre adresse e-mail a été demandée",
      """
      Quelqu’un qui est connecté à votre compte veut lui donner une autre adresse e-mail. Le compte la \
      reçoit si quelqu’un l’accepte à cette adresse dans la journée. Les codes et les messages y seront alors envoyés.
      """),
    addressChanged: Text(
      "Votre compte a une nouvelle adresse e-mail",
      """
      Votre compte a désormais une autre adresse e-mail. Les codes et les messages y sont \
      envoyés, et non plus à cette adresse. Si ce n’était pas vous, demandez tout de suite de \
      l’aide aux responsables de ce site.
      """),
    deviceRenewed: Text(
      "Un appareil a été enregistré de nouveau",
      """
      Quelqu’un qui est connecté à votre compte sur un appareil a enregistré cet appareil de \
      nouveau. Il y reste connecté, mais cela n’ouvre pas davantage votre compte.
      """),
    accountDeleted: Text(
      "Votre compte est supprimé",
      """
      Votre compte est supprimé avec tout ce qu’il contenait. Si ce n’était pas vous, demandez \
      tout de suite de l’aide aux responsables de ce site.
      """),
    browserSignedIn: Text(
      "Votre compte a été ouvert dans un navigateur",
      """
      Quelqu’un s’est connecté à la page où l’on peut modifier vos appareils, vos clés d’accès et votre adresse e-mail.
      """),
    keysRemoved: Text(
      "Des clés de connexion ont été retirées de votre compte",
      """
      Quelqu’un a retiré de votre compte une clé d’accès, ou la connexion par le visage ou l’empreinte. Vous \
      pouvez toujours vous connecter avec un code reçu par e-mail.
      """),
    accountBanned: Text(
      "Votre compte est bloqué",
      """
      Les responsables de ce site ont bloqué votre compte. Vous êtes déconnecté partout, et personne ne \
      peut s’y connecter. Rien n’est supprimé. Si vous pensez que c’est une erreur, adressez-vous aux \
      responsables de ce site.
      """),
    accountUnbanned: Text(
      "Votre compte est de nouveau ouvert",
      """
      Les responsables de ce site ont débloqué votre compte. Vous pouvez vous connecter comme avant, et \
      tout y est encore.
      """),
    addressProven: Text(
      "Votre adresse est confirmée",
      "Votre adresse e-mail est confirmée. Voici ce qui peut utiliser votre compte :"),
    removeAll:
      "Si vous ne connaissez pas l’un d’eux, retirez-les tous ici, puis reconnectez-vous :",
    biometricKey: "Visage ou empreinte", passkey: "Clé d’accès",
    ifItWasNotYou: "Si ce n’était pas vous, annulez-le ici :",
    device: "Appareil", address: "Depuis", time: "Quand")
}
