extension MailTexts {
  static let spanish = MailTexts(
    codeIs: "Su código de acceso es",
    loginCode: Text(
      "Su código de acceso",
      """
      Escríbalo antes de cinco minutos donde lo pidió. Sirve una sola vez y solo allí. Si \
      usted no lo pidió, no tiene que hacer nada: sin el código nadie puede entrar.
      """),
    handsOver: """
      Nadie ha confirmado todavía esta dirección. Este código la confirma y cierra la sesión del teléfono en el que \
      se creó la cuenta, salvo que lo escriba allí mientras tenga la sesión abierta. Para que ese teléfono no la \
      cierre, abra antes el correo de confirmación y responda que sí.
      """,
    confirmation: Text(
      "¿Es usted?",
      """
      Alguien ha creado una cuenta con su dirección de correo. Díganos en esta página si fue usted. Si \
      responde que no, la cuenta se borra. \
      Hasta que responda que sí, el primer inicio de sesión en otro dispositivo con un código enviado por correo cierra \
      la sesión del teléfono en el que se creó la cuenta.
      """),
    newDevice: Text(
      "Su cuenta se usa en un dispositivo nuevo",
      "Alguien ha entrado en su cuenta en un dispositivo en el que no se había usado antes."),
    passkeyAdded: Text(
      "Se ha añadido una clave de acceso a su cuenta",
      "Alguien ha añadido una clave de acceso a su cuenta. Quien la tenga puede entrar."),
    biometricKeyAdded: Text(
      "Acceso con la cara o la huella activado",
      "Alguien ha activado el acceso a su cuenta con la cara o la huella en un dispositivo."),
    refreshReused: Text(
      "Hemos cerrado la sesión de uno de sus dispositivos",
      """
      Alguien ha usado por segunda vez una clave de este dispositivo. Puede que la hayan copiado, así que \
      hemos cerrado su sesión. Vuelva a entrar en él.
      """),
    addressChange: Text(
      "Su nueva dirección de correo",
      """
      Alguien quiere usar esta dirección de correo para su cuenta. Si fue usted, confírmelo en \
      esta página en el plazo de un día. Si no, no tiene que hacer nada: la dirección no se \
      usará.
      """),
    addressChangeBegun: Text(
      "Se ha pedido otra dirección de correo",
      """
      Alguien que ha entrado en su cuenta quiere darle otra dirección de correo. La cuenta la recibe si \
      alguien lo acepta en esa dirección en el plazo de un día. Los códigos y mensajes irán entonces allí.
      """),
    addressChanged: Text(
      "Su cuenta tiene una nueva dirección de correo",
      """
      Su cuenta tiene ahora otra dirección de correo. Los códigos y los mensajes van allí, y \
      ya no a esta dirección. Si no fue usted, pida ayuda enseguida a quien lleva este sitio.
      """),
    deviceRenewed: Text(
      "Un dispositivo se ha registrado de nuevo",
      """
      Alguien que ha entrado en su cuenta en un dispositivo ha registrado de nuevo ese \
      dispositivo. Sigue conectado en él, pero eso no abre más su cuenta.
      """),
    accountDeleted: Text(
      "Su cuenta está borrada",
      """
      Su cuenta está borrada con todo lo que tenía. Si no fue usted, pida ayuda enseguida a \
      quien lleva este sitio.
      """),
    browserSignedIn: Text(
      "Su cuenta se ha abierto en un navegador",
      """
      Alguien ha entrado en la página en la que se pueden cambiar sus dispositivos, sus claves de acceso y su dirección de correo.
      """),
    keysRemoved: Text(
      "Se han quitado claves de acceso de su cuenta",
      """
      Alguien ha quitado de su cuenta una clave de acceso, o la entrada con la cara o la huella. Todavía puede \
      entrar con un código enviado por correo.
      """),
    accountBanned: Text(
      "Su cuenta está bloqueada",
      """
      Quien lleva este sitio ha bloqueado su cuenta. Se ha cerrado su sesión en todas partes, y nadie \
      puede entrar. No se ha borrado nada. Si cree que es un error, pregunte a quien lleva este sitio.
      """),
    accountUnbanned: Text(
      "Su cuenta está abierta de nuevo",
      """
      Quien lleva este sitio ha desbloqueado su cuenta. Puede entrar como antes, y todo sigue ahí.
      """),
    addressProven: Text(
      "Su dirección está confirmada",
      "Su dirección de correo está confirmada. Con esto se puede usar su cuenta:"),
    removeAll: "Si no conoce alguno, quítelos todos aquí y vuelva a entrar:",
    biometricKey: "Rostro o huella", passkey: "Clave de acceso",
    ifItWasNotYou: "Si no fue usted, deshágalo aquí:",
    device: "Dispositivo", address: "Desde", time: "Cuándo")
}
