extension AccountTexts {
  static let spanish = AccountTexts(
    title: "Su cuenta",
    intro: """
      Vea, cambie y borre lo que este sitio sabe de usted. Entre con un código que le enviamos a la dirección de su \
      cuenta, o con una clave de acceso.
      """,
    email: "Dirección de correo", mailCode: "Enviarme un código",
    withPasskey: "Con una clave de acceso", passkeyButton: "Entrar con una clave de acceso",
    passkeyNeedsScript: """
      Una clave de acceso necesita JavaScript, que su navegador tiene desactivado. Entre con un código.
      """,
    noPasskey: """
      Su navegador no ha dado ninguna clave de acceso. Inténtelo de nuevo o pida un código.
      """,
    codeTitle: "Escriba el código",
    codeIntro: """
      Si una cuenta tiene esa dirección, le hemos enviado un código de seis cifras. Sirve durante cinco minutos.
      """,
    code: "Código del correo", signIn: "Entrar", startAgain: "Empezar de nuevo",
    signInAgain: "Vuelva a entrar",
    signedInAs: "Ha entrado como", signOut: "Cerrar sesión", about: "Nombre y dirección",
    name: "Su nombre", changeName: "Cambiar el nombre", changeAddress: "Cambiar la dirección",
    addressRule: """
      Enviamos un enlace a la nueva dirección. La dirección vale cuando usted usa el enlace.
      """,
    pendingAddress: Pattern {
      "Hemos enviado un enlace a \($0). La dirección vale cuando usted usa el enlace."
    },
    everything: "Todo", download: "Descargar lo que guardamos de su cuenta",
    delete: "Borrar su cuenta", thisBrowser: "(este navegador)",
    unknownAddress: "Dirección desconocida", notSignedIn: "no",
    signedInUntil: Pattern { "hasta el \($0)" },
    keep: "Conservar", onlySignOut: "Solo cerrar su sesión", deletionTitle: "¿Borrar su cuenta?",
    deletionIntro: Pattern {
      """
      Esto borra la cuenta de \($0): dispositivos, claves de acceso, bancos, tarjetas y ajustes. No se puede deshacer. \
      Los registros de pagos se conservan, sin su nombre.
      """
    },
    deleteButton: "Borrar mi cuenta", keepAccount: "Conservar mi cuenta",
    notes: Notes(
      nameChanged: "Su nombre se ha cambiado.",
      linkMailed: """
        Hemos enviado un enlace a esa dirección. Su cuenta la tendrá cuando usted use el enlace.
        """,
      signedOut: "Ha cerrado la sesión.", deleted: "Su cuenta se ha borrado.",
      stale: "No se ha cambiado nada, porque esa página era antigua. Inténtelo de nuevo.",
      signInFirst: "No se ha cambiado nada. Entre primero.", gone: "Eso ya no existe.",
      proofTooOld: "Entró hace más de diez minutos. Vuelva a entrar y repita esto después."),
    devices: .init(
      title: "Dispositivos", none: "Ningún dispositivo ha entrado.",
      facts: [
        "platform": "Plataforma", "createdAt": "Desde", "lastUsedAt": "Último uso",
        "signedInUntil": "Sesión abierta",
      ],
      removal: .init(
        button: "Quitar", question: "¿Quitar este dispositivo?",
        consequence: """
          Se cierra su sesión, y allí termina el acceso con la cara o la huella. Puede volver a entrar con un código.
          """,
        done: "El dispositivo se ha quitado y su sesión se ha cerrado.")),
    browsers: .init(
      title: "Navegadores en esta página", none: "Ningún navegador tiene la sesión abierta.",
      facts: ["signedInAt": "Desde", "expiresAt": "Hasta"],
      removal: .init(
        button: "Cerrar sesión", question: "¿Cerrar la sesión de este navegador?",
        consequence: "Nadie puede usar su cuenta en él hasta que vuelva a entrar.",
        done: "La sesión del navegador se ha cerrado.")),
    passkeys: .init(
      title: "Claves de acceso", none: "No hay claves de acceso.",
      facts: ["createdAt": "Desde", "lastUsedAt": "Último uso"],
      removal: .init(
        button: "Quitar", question: "¿Quitar esta clave de acceso?",
        consequence: "Ya nadie puede entrar con ella. Usted puede seguir entrando con un código.",
        done: "La clave de acceso se ha quitado.")),
    events: .init(
      title: "Lo que ha ocurrido", none: "Aún no ha ocurrido nada.", facts: [:]),
    signedOutDevice: "La sesión del dispositivo se ha cerrado.")
}

extension LinkTexts {
  static let spanish = LinkTexts(
    isThisYou: "¿Es usted?",
    somebodyCreated: "Alguien ha creado una cuenta con su dirección de correo.",
    address: "Dirección", phone: "Teléfono", when: "Cuándo", from: "Desde",
    thisIsMe: "Sí, soy yo", thisIsNotMe: "No, no soy yo",
    creationRule: """
      Si responde que no, la cuenta se borra. Hasta que responda que sí, el primer inicio de sesión en otro dispositivo \
      con un código enviado por correo cierra la sesión del teléfono de arriba.
      """,
    thanks: "Gracias", confirmed: "Su dirección está confirmada. Puede cerrar esta página.",
    denied: "La cuenta está borrada",
    nobodyUses: "Ya nadie puede usarla. No tiene que hacer nada más.",
    nothingToConfirm: "Nada que confirmar",
    usedBefore: "Este enlace ya se usó, o la cuenta ya no existe.",
    useAddress: "¿Usar esta dirección?",
    somebodyWants: "Alguien que ha entrado en esta cuenta quiere darle la nueva dirección:",
    newAddress: "Nueva dirección", name: "Nombre de la cuenta",
    noPhone: "ninguno tiene la sesión abierta", accountSince: "Cuenta desde",
    onlyIfYours: """
      Siga solo si esta cuenta es suya. A partir de entonces entrará en ella con esa dirección, y los códigos irán allí.
      """,
    useButton: "Usar esta dirección",
    otherwise: """
      Si no conoce esta cuenta, o no pidió esto, cierre la página. Entonces no cambia nada. De lo contrario, al entrar \
      abriría la cuenta de otra persona, que vería lo que usted hace allí.
      """,
    addressChanged: "Su dirección se ha cambiado",
    hasNewAddress: "Su cuenta tiene ahora la nueva dirección. Puede cerrar esta página.",
    nothingToChange: "Nada que cambiar",
    addressGone: """
      Este enlace ya se usó o es demasiado antiguo, o bien otra cuenta tiene ya la dirección. Pida de nuevo la dirección, \
      u otra distinta.
      """,
    wasThisNotYou: "¿No fue usted?", device: "Dispositivo", signedIn: "Sesión iniciada",
    endDevice: "Cerrar la sesión de este dispositivo",
    endBrowsers: "Cerrar la sesión en todos los navegadores",
    ifItWasYou: "Si fue usted, cierre esta página.",
    passkeyGoesToo: "Si no, también se quita la clave de acceso que se añadió.",
    undone: "Se ha deshecho",
    deviceOut: """
      La sesión del dispositivo se ha cerrado. Nadie puede usar su cuenta en él hasta que vuelva a entrar.
      """,
    passkeyRemoved: "La clave de acceso se ha quitado.",
    browsersOut: "Se ha cerrado la sesión en los navegadores.",
    watchYourMail: "Si no sabe quién fue, asegúrese de que nadie más lea su correo.",
    keepAddress: "Conservar la dirección actual",
    askerGoesToo: "Si no, también se cierra la sesión del dispositivo o navegador que lo pidió.",
    addressStays: "La dirección se queda como está.",
    hasAccess: "Con esto se puede usar la cuenta hasta ahora:",
    biometricKey: "Rostro o huella", passkey: "Clave de acceso", removeAll: "Quitarlos todos",
    allGo: """
      Si no, se quitan todos y se cierra la sesión de los dispositivos. Después, vuelva a entrar con un código.
      """,
    allRemoved: "Se han quitado todos.",
    nothingToEnd: "Nada que terminar",
    outAlready: "La sesión ya está cerrada, o la cuenta ya no existe.")
}
