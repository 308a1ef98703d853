import Base

/// Texts of the page `/` in one language.
struct StartTexts: Sendable {
  let intro: String
  let account: String
  let accountMeaning: String
  let pairing: String
  let pairingMeaning: String
  let health: String
  let healthMeaning: String
}

extension StartTexts {
  init(in language: Language) {
    switch language {
    case .english: self = .english
    case .german: self = .german
    case .french: self = .french
    case .spanish: self = .spanish
    case .persian: self = .persian
    }
  }

  private static let english = StartTexts(
    intro: """
      This is Switchboard, the server of mobile apps. It signs people in, keeps their devices and settings, and \
      tells them what is new. The apps do the rest: people need only these pages.
      """,
    account: "Your account",
    accountMeaning: "Shows what this site knows about you, and deletes it.",
    pairing: "Pair a phone", pairingMeaning: "Shows the code that the app scans.",
    health: "Health", healthMeaning: "Tells programs whether everything works.")

  private static let german = StartTexts(
    intro: """
      Dies ist Switchboard, der Server mobiler Apps. Er meldet Menschen an, bewahrt ihre Geräte und Einstellungen \
      auf und sagt ihnen, was es Neues gibt. Den Rest tun die Apps: Sie brauchen nur diese Seiten.
      """,
    account: "Ihr Konto",
    accountMeaning: "Zeigt, was diese Seite über Sie weiß, und löscht es.",
    pairing: "Ein Telefon koppeln", pairingMeaning: "Zeigt den Code, den die App scannt.",
    health: "Zustand", healthMeaning: "Sagt Programmen, ob alles funktioniert.")

  private static let french = StartTexts(
    intro: """
      Voici Switchboard, le serveur d’applications mobiles. Il connecte les personnes, conserve leurs appareils et \
      leurs réglages, et les informe des nouveautés. Les applications font le reste : ces pages vous suffisent.
      """,
    account: "Votre compte",
    accountMeaning: "Montre ce que ce site sait de vous, et le supprime.",
    pairing: "Associer un téléphone", pairingMeaning: "Montre le code que l’application scanne.",
    health: "État", healthMeaning: "Dit aux programmes si tout fonctionne.")

  private static let spanish = StartTexts(
    intro: """
      Esto es Switchboard, el servidor de aplicaciones móviles. Identifica a las personas, guarda sus dispositivos y \
      ajustes, y les avisa de las novedades. Las aplicaciones hacen el resto: a usted le bastan estas páginas.
      """,
    account: "Su cuenta",
    accountMeaning: "Muestra lo que este sitio sabe de usted, y lo borra.",
    pairing: "Vincular un teléfono",
    pairingMeaning: "Muestra el código que escanea la aplicación.",
    health: "Estado", healthMeaning: "Dice a los programas si todo funciona.")

  private static let persian = StartTexts(
    intro: """
      این Switchboard است، سرور برنامه‌های موبایل. افراد را وارد حسابشان می‌کند، دستگاه‌ها و تنظیماتشان را نگه می‌دارد و \
      خبرهای تازه را به آن‌ها می‌رساند. باقی کارها با برنامه‌هاست: شما تنها به این صفحه‌ها نیاز دارید.
      """,
    account: "حساب شما",
    accountMeaning: "نشان می‌دهد که این سایت دربارهٔ شما چه می‌داند، و آن را حذف می‌کند.",
    pairing: "جفت کردن تلفن", pairingMeaning: "کدی را نشان می‌دهد که برنامه اسکن می‌کند.",
    health: "وضعیت", healthMeaning: "به برنامه‌ها می‌گوید که آیا همه چیز کار می‌کند.")
}
