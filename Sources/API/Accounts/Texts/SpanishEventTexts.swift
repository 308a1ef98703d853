extension EventTexts {
  static let spanish = EventTexts(
    sentence: { event in
      switch event {
      case .accountBanned: "Quien lleva este sitio ha bloqueado la cuenta."
      case .accountConfirmed: "Se ha confirmado que la cuenta es suya."
      case .accountCreated: "Se ha creado la cuenta."
      case .accountDeleted: "Se ha borrado la cuenta."
      case .accountDenied: "La cuenta se ha rechazado y borrado."
      case .accountHandedOver:
        "Se ha demostrado la dirección. Los accesos y las claves anteriores han terminado."
      case .accountUnbanned: "Quien lleva este sitio ha desbloqueado la cuenta."
      case .addressChangeBegun: "Se ha pedido otra dirección de correo."
      case .addressChanged: "Se ha cambiado la dirección de correo."
      case .biometricDisabled: "Se ha desactivado el acceso con la cara o la huella."
      case .biometricEnabled: "Se ha activado el acceso con la cara o la huella."
      case .biometricLocked:
        "Se ha bloqueado el acceso con la cara o la huella tras demasiados intentos fallidos."
      case .biometricRefused: "No se ha aceptado una cara o una huella."
      case .codeDead: "Un código de acceso ha terminado tras demasiados intentos fallidos."
      case .codeRefused: "Se ha escrito un código de acceso incorrecto."
      case .codeRequested: "Se ha pedido un código de acceso."
      case .credentialRefused: "Un dispositivo no ha podido demostrar que es suyo."
      case .deviceRegistered: "Se ha registrado de nuevo un dispositivo."
      case .deviceRenamed: "Se ha cambiado el nombre de un dispositivo."
      case .deviceRevoked: "Se ha quitado un dispositivo."
      case .emailProven: "Se ha demostrado la dirección de correo."
      case .logout: "Se ha cerrado la sesión de un dispositivo o navegador."
      case .passkeyAdded: "Se ha añadido una clave de acceso."
      case .passkeyCloned: "Se ha rechazado una clave de acceso, porque puede estar copiada."
      case .passkeyRefused: "No se ha aceptado una clave de acceso."
      case .passkeyRemoved: "Se ha quitado una clave de acceso."
      case .passkeyRenamed: "Se ha cambiado el nombre de una clave de acceso."
      case .profileChanged: "Se ha cambiado el nombre."
      case .pushTokenRemoved: "Se han desactivado las notificaciones en un dispositivo."
      case .pushTokenSet: "Se han activado las notificaciones para un dispositivo."
      case .refreshRefused:
        "Una sesión se ha renovado dos veces a la vez, y se ha rechazado un intento."
      case .refreshRepeated:
        "Una aplicación volvió a pedir una renovación, como tras una respuesta perdida."
      case .refreshReuse:
        "Una clave se ha usado por segunda vez, así que se ha cerrado la sesión de su dispositivo."
      case .refreshed: "Se ha renovado una sesión."
      case .signIn: "Alguien ha entrado."
      case .signInRefused: "Se ha rechazado un acceso."
      case .preferencesWritten: "Se han cambiado ajustes."
      case .keyBound: "Una aplicación ha demostrado que es auténtica."
      case .writeRefused:
        "Se ha rechazado un cambio, porque la aplicación no ha podido demostrar que es auténtica."
      case .bankEnrolled: "Se ha añadido un banco."
      case .bankEnrollmentBegun: "Alguien ha empezado a añadir un banco."
      case .bankRefused: "No se ha añadido un banco."
      case .cardDefault: "Se ha elegido otra tarjeta como principal."
      case .cardRemoved: "Se ha quitado una tarjeta."
      case .enrollmentRemoved: "Se han quitado un banco y sus tarjetas."
      case .paymentBegun: "Se ha iniciado un pago."
      case .paymentCancelled: "Se ha cancelado un pago."
      case .paymentConfirmed: "Se ha confirmado un pago."
      case .paymentRefunded: "La tienda ha devuelto un pago."
      case .paymentRefused: "No se ha confirmado un pago."
      }
    },
    other: "Ha ocurrido otra cosa.",
    byAdministrator: "Lo ha hecho quien lleva este sitio.",
    byLink: "Con el enlace de un correo.", inBrowser: "En un navegador, en esta página.",
    reason: "Motivo:")
}
