import Base

/// Texts of `/pair` and the pages below in one language. Titles of technical facts are the same in each language.
struct PairingTexts: Sendable {
  typealias Pattern = Messages.Pattern

  let title: String
  let authRequired: String
  let noAuthRequired: String
  /// Warns of a proxy that names no client.
  let openToAll: String
  let picture: String
  let codeToType: String
  let tokenExpires: String
  let session: String
  let refresh: String
  let rule: String
  /// Text around the time since a phone has paired; the phone's name follows.
  let paired: Pattern
  let phones: String
  let phonesRule: String
  let number: PageTexts.Counted
  let pairPhone: String
  /// Text around the name of the app.
  let app: Pattern
  /// Text around the time since the last use; ``pairedBefore`` since the pairing.
  let lastUsed: Pattern
  let pairedBefore: Pattern
  let from: Pattern
  let name: String
  let rename: String
  let end: String
}

extension PairingTexts {
  init(in language: Language) {
    switch language {
    case .english: self = .english
    case .german: self = .german
    case .french: self = .french
    case .spanish: self = .spanish
    case .persian: self = .persian
    }
  }

  private static let english = PairingTexts(
    title: "cdev Pairing", authRequired: "Auth Required", noAuthRequired: "No Auth Required",
    openToAll: """
      This request has the site’s public name, but seems to come from this machine. If a proxy is in front of the site, \
      everybody can open this page: have the proxy send X-Forwarded-For, and name it in SWITCHBOARD_TRUSTED_PROXIES.
      """,
    picture: "QR code to scan with the app", codeToType: "Code to type",
    tokenExpires: "Token expires", session: "Session", refresh: "Refresh",
    rule: """
      A code pairs one phone. Refresh to get the next code. Codes that nobody has scanned stop working then.
      """,
    paired: Pattern { "Paired \($0):" }, phones: "Paired phones",
    phonesRule: """
      The one that was used last comes first. A phone that is not used for a week has to pair again.
      """,
    number: .init("1 phone may reach the agent.") { "\($0) phones may reach the agent." },
    pairPhone: "Pair a phone", app: Pattern { "App: \($0)." },
    lastUsed: Pattern { "Last used \($0)." }, pairedBefore: Pattern { "Paired \($0)" },
    from: Pattern { "from \($0)." }, name: "Name", rename: "Rename", end: "End")

  private static let german = PairingTexts(
    title: "cdev koppeln", authRequired: "Anmeldung nötig", noAuthRequired: "Keine Anmeldung nötig",
    openToAll: """
      Diese Anfrage hat den öffentlichen Namen der Site, scheint aber von diesem Rechner zu kommen. Steht ein Proxy davor, \
      kann jeder diese Seite öffnen: Lassen Sie den Proxy X-Forwarded-For senden, und nennen Sie ihn in \
      SWITCHBOARD_TRUSTED_PROXIES.
      """,
    picture: "QR-Code, den die App scannt", codeToType: "Code zum Eintippen",
    tokenExpires: "Token läuft ab", session: "Sitzung", refresh: "Erneuern",
    rule: """
      Ein Code koppelt ein Telefon. Mit „Erneuern“ bekommen Sie den nächsten. Codes, die niemand gescannt hat, gelten \
      dann nicht mehr.
      """,
    paired: Pattern { "Gekoppelt \($0):" }, phones: "Gekoppelte Telefone",
    phonesRule: """
      Das zuletzt benutzte steht oben. Ein Telefon, das eine Woche lang nicht benutzt wird, muss neu gekoppelt werden.
      """,
    number: .init("1 Telefon darf den Agenten erreichen.") {
      "\($0) Telefone dürfen den Agenten erreichen."
    },
    pairPhone: "Ein Telefon koppeln", app: Pattern { "Anwendung: \($0)." },
    lastUsed: Pattern { "Zuletzt benutzt \($0)." }, pairedBefore: Pattern { "Gekoppelt \($0)" },
    from: Pattern { "von \($0)." }, name: "Bezeichnung", rename: "Umbenennen", end: "Beenden")

  private static let french = PairingTexts(
    title: "Associer à cdev", authRequired: "Authentification requise",
    noAuthRequired: "Aucune authentification requise",
    openToAll: """
      Cette requête porte le nom public du site, mais semble venir de cette machine. Si un proxy est placé devant le site, \
      tout le monde peut ouvrir cette page : faites envoyer X-Forwarded-For par le proxy, et nommez-le dans \
      SWITCHBOARD_TRUSTED_PROXIES.
      """,
    picture: "Code QR à scanner avec l’application", codeToType: "Code à saisir",
    tokenExpires: "Le jeton expire", session: "Session en cours", refresh: "Renouveler",
    rule: """
      Un code associe un seul téléphone. Renouvelez pour obtenir le suivant. Les codes que personne n’a scannés cessent \
      alors de fonctionner.
      """,
    paired: Pattern { "Associé \($0) :" }, phones: "Téléphones associés",
    phonesRule: """
      Le dernier utilisé vient en premier. Un téléphone inutilisé pendant une semaine doit être associé de nouveau.
      """,
    number: .init("1 téléphone peut joindre l’agent.") {
      "\($0) téléphones peuvent joindre l’agent."
    },
    pairPhone: "Associer un téléphone", app: Pattern { "Application : \($0)." },
    lastUsed: Pattern { "Dernière utilisation \($0)." }, pairedBefore: Pattern { "Associé \($0)" },
    from: Pattern { "depuis \($0)." }, name: "Nom", rename: "Renommer", end: "Dissocier")

  private static let spanish = PairingTexts(
    title: "Vincular con cdev", authRequired: "Se requiere autenticación",
    noAuthRequired: "No se requiere autenticación",
    openToAll: """
      Esta petición lleva el nombre público del sitio, pero parece venir de esta máquina. Si hay un proxy delante del sitio, \
      todos pueden abrir esta página: haga que el proxy envíe X-Forwarded-For y nómbrelo en SWITCHBOARD_TRUSTED_PROXIES.
      """,
    picture: "Código QR para escanear con la aplicación", codeToType: "Código para escribir",
    tokenExpires: "El token caduca", session: "Sesión", refresh: "Renovar",
    rule: """
      Un código vincula un solo teléfono. Renuévelo para obtener el siguiente. Los códigos que nadie ha escaneado dejan \
      entonces de servir.
      """,
    paired: Pattern { "Vinculado \($0):" }, phones: "Teléfonos vinculados",
    phonesRule: """
      El último que se usó aparece primero. Un teléfono que no se usa en una semana tiene que vincularse de nuevo.
      """,
    number: .init("1 teléfono puede acceder al agente.") {
      "\($0) teléfonos pueden acceder al agente."
    },
    pairPhone: "Vincular un teléfono", app: Pattern { "Aplicación: \($0)." },
    lastUsed: Pattern { "Usado por última vez \($0)." },
    pairedBefore: Pattern { "Vinculado \($0)" },
    from: Pattern { "desde \($0)." }, name: "Nombre", rename: "Cambiar el nombre",
    end: "Desvincular")

  private static let persian = PairingTexts(
    title: "جفت کردن با cdev", authRequired: "احراز هویت لازم است",
    noAuthRequired: "احراز هویت لازم نیست",
    openToAll: """
      این درخواست نام عمومی سایت را دارد، اما گویا از همین دستگاه می‌آید. اگر پروکسی جلوی سایت باشد، همه می‌توانند این صفحه را \
      باز کنند: بگذارید پروکسی X-Forwarded-For بفرستد، و آن را در SWITCHBOARD_TRUSTED_PROXIES نام ببرید.
      """,
    picture: "کد QR برای اسکن با برنامه",
    codeToType: "کد برای تایپ", tokenExpires: "انقضای توکن", session: "نشست", refresh: "تازه کردن",
    rule: """
      هر کد یک تلفن را جفت می‌کند. برای کد بعدی «تازه کردن» را بزنید. کدهایی که کسی اسکن نکرده است از آن پس کار نمی‌کنند.
      """,
    paired: Pattern { "\($0) جفت شد:" }, phones: "تلفن‌های جفت‌شده",
    phonesRule: """
      تلفنی که آخر از همه به کار رفته است بالاتر می‌آید. تلفنی که یک هفته به کار نرود باید دوباره جفت شود.
      """,
    number: .init("۱ تلفن به عامل دسترسی دارد.") { "\($0) تلفن به عامل دسترسی دارند." },
    pairPhone: "جفت کردن تلفن", app: Pattern { "برنامه: \($0)." },
    lastUsed: Pattern { "آخرین استفاده: \($0)." }, pairedBefore: Pattern { "جفت‌شده \($0)" },
    from: Pattern { "از \($0)." }, name: "نام", rename: "تغییر نام", end: "پایان")
}
