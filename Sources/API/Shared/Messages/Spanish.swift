extension Messages {
  static let spanish = Messages(
    noCredentials: "No ha iniciado sesión. Inicie sesión y vuelva a intentarlo.",
    invalidToken: "Su sesión ha caducado. Inicie sesión de nuevo.",
    invalidDeviceCredential:
      "La aplicación no pudo demostrar que este dispositivo es suyo. Inicie sesión de nuevo.",
    freshProofRequired: """
      Inicie sesión de nuevo con un código enviado por correo o con una clave de acceso, y después \
      repita esto.
      """,
    accountBanned: "Esta cuenta está bloqueada. Pregunte a quien lleva este sitio.",
    unknownRequest: """
      La aplicación ha pedido algo que aquí no existe. Actualice la aplicación y vuelva a intentarlo.
      """,
    payloadTooLarge: """
      La aplicación ha enviado demasiado de una vez. Envíe menos, o actualice la aplicación, y \
      vuelva a intentarlo.
      """,
    tooManyRequests: "Lo ha intentado demasiadas veces. Espere un rato y vuelva a intentarlo.",
    unavailable:
      "No podemos responder en este momento. Vuelva a intentarlo dentro de unos segundos.",
    serverError: "Algo ha fallado por nuestra parte. Vuelva a intentarlo más tarde.",

    bodyIncomplete: "La solicitud llegó incompleta. Vuelva a intentarlo.",
    invalidJSON: """
      Lo que la aplicación ha enviado no es JSON válido. Actualice la aplicación y vuelva a \
      intentarlo.
      """,
    noObject: """
      La aplicación no ha enviado un objeto JSON. Actualice la aplicación y vuelva a intentarlo.
      """,
    email: Entry("La dirección de correo", "Escriba su dirección de correo."),
    name: Entry("El nombre", "Escriba un nombre."),
    code: Entry("El código", "Escriba el código que recibió por correo."),
    sentValue: Pattern { "El valor «\($0)»" },
    tooLong: Pattern {
      "\($0) supera la longitud permitida. Acorte el texto y vuelva a intentarlo."
    },
    hasControls: Pattern {
      "\($0) tiene caracteres que no se pueden mostrar. Quítelos y vuelva a intentarlo."
    },
    notSent: Pattern {
      """
      La aplicación no ha enviado el valor «\($0)». Actualice la aplicación y vuelva a intentarlo.
      """
    },
    wrong: Pattern {
      """
      La aplicación ha enviado un valor «\($0)» incorrecto. Actualice la aplicación y vuelva a \
      intentarlo.
      """
    },
    notAnEmailAddress: """
      Esta dirección de correo no es válida. Escriba una dirección como name@example.org.
      """,
    addressNotASCII: """
      La dirección tiene una letra con tilde o de otro alfabeto. Escriba una dirección con letras \
      simples; un dominio en otro alfabeto tiene una forma que empieza por xn--.
      """,
    unknownPlatform: Pattern {
      """
      La plataforma debe ser una de estas: \($0). Actualice la aplicación y vuelva a intentarlo.
      """
    },

    accountExists: "Ya existe una cuenta con esta dirección de correo. Inicie sesión en ella.",
    confirmAddress: """
      Le hemos enviado un enlace. Ábralo y confirme que la cuenta es suya. De lo contrario, su primer \
      inicio de sesión en otro dispositivo con un código enviado por correo cerrará la sesión de este teléfono.
      """,
    accountGone: "Esta cuenta ya no existe. Inicie sesión en otra o cree una nueva.",
    codeSent: """
      Si hay una cuenta con esta dirección, hemos enviado allí un código. Escriba el código \
      antes de cinco minutos.
      """,
    codeMailed:
      "Le hemos enviado un código por correo. Escríbalo aquí en lugar de la contraseña.",
    wrongCode:
      "Este código es incorrecto o demasiado antiguo. Escriba el más reciente o pida otro.",
    invalidRefreshToken: "Su sesión ha caducado. Inicie sesión de nuevo.",
    refreshedElsewhere: "Su sesión se ha renovado dos veces al mismo tiempo. Vuelva a intentarlo.",

    foreignForm: "Este formulario no lo envió la página de este sitio. Abra la página de nuevo.",
    formIncomplete: "El formulario llegó incompleto. Abra la página de nuevo.",
    wrongPageCode:
      "Este código es incorrecto o demasiado antiguo. Escriba el más reciente o empiece de nuevo.",
    pagePasskeyRefused:
      "La clave de acceso no se ha aceptado. Pruebe con otra o pida un código.",
    noForm: "La página no envió ningún formulario. Vuelva atrás e inténtelo de nuevo.",
    foreignEnrollmentForm:
      "Este formulario viene de otro sitio. Abra la aplicación y empiece de nuevo.",
    foreignAddress: """
      Los teléfonos solo se vinculan desde esta máquina y desde las direcciones que ha indicado quien lleva este sitio.
      """,
    foreignPage: "Abra esta página con el nombre o la dirección del propio sitio.",
    noTokensHere: "Aquí no hace falta identificarse. Use la aplicación sin código.",
    phoneNameRule: """
      Escriba un nombre de 64 caracteres como máximo, sin caracteres de control. Un nombre vacío quita el anterior.
      """,

    unknownDevice: """
      Este dispositivo aún no está registrado. Reinicie la aplicación y vuelva a intentarlo.
      """,
    deviceFull: "Este dispositivo ya está registrado. Inicie sesión en una de sus cuentas.",
    deviceGone: """
      Su cuenta no tiene este dispositivo. Recargue la lista, o inicie sesión en el dispositivo.
      """,
    otherDevice: "Ha iniciado sesión en otro dispositivo. Inicie sesión de nuevo en este.",

    usePasskey: "Inicie sesión con su clave de acceso, o pida un código por correo.",
    passkeyRefused: """
      La clave de acceso no se ha aceptado. Vuelva a intentarlo, o inicie sesión con un código \
      enviado por correo.
      """,
    passkeyWaits: """
      La clave de acceso está añadida. Podrá usarla cuando haya confirmado su dirección: abra el enlace \
      que le hemos enviado.
      """,
    passkeyNotAdded: "La clave de acceso no se ha aceptado. Añádala de nuevo.",
    passkeyTaken: "Esta clave de acceso ya se usa. Añada otra.",
    passkeyGone: "Esta clave de acceso ya no existe. Recargue la lista.",
    tooManyPasskeys: """
      Su cuenta ya tiene todas las claves de acceso que puede tener. Quite una primero.
      """,
    noBiometricKey: """
      En este dispositivo no está activado el acceso con la cara o la huella. Inicie sesión primero \
      con un código.
      """,
    noPaymentKey: """
      Este dispositivo aún no puede confirmar pagos. Active la cara o la huella en la aplicación, o \
      confirme con una clave de acceso.
      """,
    keyTooNew: """
      La clave de este dispositivo para la cara o la huella es nueva. Inicie sesión con un código \
      por correo o una clave de acceso y después confirme el pago, o espere un día.
      """,
    keyInUse: """
      Esta clave pertenece a otra cuenta en este teléfono. Cree una nueva o actualice la \
      aplicación.
      """,
    biometricsRefused: """
      Su cara o su huella no se ha aceptado. Vuelva a intentarlo, o inicie sesión con un código.
      """,

    unknownBank: "Este banco no se puede añadir aquí. Elija otro.",
    enrollmentGone: "Este banco ya no está en su cartera. Recargue la lista.",
    enrollmentExpired: "Esta solicitud ha caducado o ya se usó. Empiece de nuevo.",
    enrollmentCancelled: "No se ha añadido el banco. Empiece de nuevo si quiere añadirlo.",
    enrollmentRefused: "El banco ha rechazado la solicitud. Empiece de nuevo.",
    bankUnavailable: "En este momento no se puede contactar con el banco. Inténtelo más tarde.",
    noAnswerOfBank: "La respuesta no llegó a tiempo y no se ha guardado nada. Vuelva a intentarlo.",
    cardGone: "Esta tarjeta ya no existe. Recargue la lista.",
    notACurrency: "La moneda debe ser una de ISO 4217, por ejemplo CAD.",
    amountOutOfRange: """
      Introduzca un importe mayor que cero, de 9999999999 como máximo, sin más decimales de los \
      que tiene su moneda.
      """,
    paymentGone: "Este pago no existe o ha caducado. Empiécelo de nuevo.",
    paymentConfirmed: "Este pago ya está confirmado. No tiene que hacer nada.",
    paymentNotConfirmed: "El pago no se ha confirmado. Vuelva a intentarlo.",
    paymentClosed: """
      Este pago se ha cancelado o su plazo ha terminado. Vuelva a la tienda y empiece de nuevo.
      """,
    paymentTaken: "Otra persona ya está pagando esto. Vuelva a la tienda si quiere pagar.",
    cardExpired: "Esta tarjeta ha caducado. Elija otra o añada de nuevo su banco.",
    amountOverLimit: "La tienda no puede cobrar un importe tan alto. Pregunte a la tienda.",
    addressNotProven: """
      Confirme primero su dirección: abra el enlace que le hemos enviado o inicie sesión con un \
      código por correo. Después podrá pagar.
      """)
}
