import Base

/// Texts of the enrollment pages and of the wallet's sections of the account page, in one language.
struct WalletTexts: Sendable {
  let enrolled: String
  let enrolledCards: PageTexts.Counted
  let closePage: String
  let notEnrolled: String
  let openApp: String
  let elsewhere: String
  let moment: String
  let underway: String
  let busy: String
  let triesAgain: String
  let goBack: String
  let question: String
  let begun: String
  /// Label of the bank's name; ``wallet`` is the label of the owner's address.
  let bank: String
  let wallet: String
  let addCards: String
  let notYours: String
  /// The question of a payment: amount with currency, merchant, card.
  let consentWords: @Sendable (_ amount: String, _ merchant: String, _ card: String) -> String
  let payment: String
  /// Labels and texts of the page that a payment's link opens.
  let shop: String
  let amount: String
  let order: String
  let payInApp: String
  let scan: String
  let picture: String
  let paid: String
  let banks: AccountSection.Texts
  let payments: AccountSection.Texts
}

extension WalletTexts {
  init(in language: Language) {
    switch language {
    case .english: self = .english
    case .german: self = .german
    case .french: self = .french
    case .spanish: self = .spanish
    case .persian: self = .persian
    }
  }

  private static let english = WalletTexts(
    enrolled: "Bank enrolled",
    enrolledCards: .init("One card is in your wallet.") { "\($0) cards are in your wallet." },
    closePage: "You can close this page.", notEnrolled: "Bank not enrolled",
    openApp: "Open the app",
    elsewhere: """
      This enrollment began in another browser. Go on there, or open the app and start again.
      """,
    moment: "One moment",
    underway: "The bank has not answered yet. This page tries again by itself.",
    busy: "Many people are adding cards now.", triesAgain: "This page tries again by itself.",
    goBack: "Please go back and try again.", question: "Add these cards?",
    begun: "An app has begun this enrollment. Do you want to add your cards to this wallet?",
    bank: "Your bank", wallet: "Wallet of", addCards: "Add the cards",
    notYours: "If this is not your wallet, close this page. Then nothing is added.",
    consentWords: { "Pay \($0) to \($1) with \($2)." },
    payment: "Payment", shop: "Shop", amount: "Amount", order: "Order",
    payInApp: "Pay in the app",
    scan: "Or scan this code with the phone that has the app.",
    picture: "QR code of this payment", paid: "This payment is confirmed.",
    banks: .init(
      title: "Banks", none: "No bank is connected.",
      facts: ["enrolledAt": "Connected", "cards": "Cards"],
      removal: .init(
        button: "Remove", question: "Remove this bank?",
        consequence: "Its cards leave your wallet too. You can add the bank again later.",
        done: "The bank and its cards are removed.")),
    payments: .init(
      title: "Payments", none: "There are no payments.",
      facts: [
        "amount": "Amount", "currency": "Currency", "orderId": "Order", "lastFour": "Card",
        "createdAt": "Begun", "confirmedAt": "Confirmed",
        "cancelledAt": "Cancelled", "refundedAt": "Refunded",
      ]))

  private static let german = WalletTexts(
    enrolled: "Die Bank ist hinzugefügt",
    enrolledCards: .init("Eine Karte ist in Ihrer Wallet.") {
      "\($0) Karten sind in Ihrer Wallet."
    },
    closePage: "Sie können diese Seite schließen.",
    notEnrolled: "Die Bank ist nicht hinzugefügt", openApp: "Die App öffnen",
    elsewhere: """
      Dieser Vorgang begann in einem anderen Browser. Machen Sie dort weiter, oder öffnen Sie die App und beginnen Sie \
      von vorn.
      """,
    moment: "Einen Moment",
    underway:
      "Die Bank hat noch nicht geantwortet. Diese Seite versucht es von selbst noch einmal.",
    busy: "Gerade fügen viele Menschen Karten hinzu.",
    triesAgain: "Diese Seite versucht es von selbst noch einmal.",
    goBack: "Bitte gehen Sie zurück, und versuchen Sie es noch einmal.",
    question: "Diese Karten hinzufügen?",
    begun:
      "Eine App hat diesen Vorgang begonnen. Möchten Sie Ihre Karten zu dieser Wallet hinzufügen?",
    bank: "Ihre Bank", wallet: "Wallet von", addCards: "Karten hinzufügen",
    notYours:
      "Wenn das nicht Ihre Wallet ist, schließen Sie diese Seite. Dann wird nichts hinzugefügt.",
    consentWords: { "\($0) an \($1) zahlen mit \($2)." },
    payment: "Zahlung", shop: "Händler", amount: "Betrag", order: "Bestellung",
    payInApp: "In der App zahlen",
    scan: "Oder scannen Sie diesen Code mit dem Telefon, auf dem die App ist.",
    picture: "QR-Code dieser Zahlung", paid: "Diese Zahlung ist bestätigt.",
    banks: .init(
      title: "Banken", none: "Es ist keine Bank verbunden.",
      facts: ["enrolledAt": "Verbunden", "cards": "Karten"],
      removal: .init(
        button: "Entfernen", question: "Diese Bank entfernen?",
        consequence: """
          Auch ihre Karten verlassen Ihre Wallet. Sie können die Bank später wieder hinzufügen.
          """,
        done: "Die Bank und ihre Karten sind entfernt.")),
    payments: .init(
      title: "Zahlungen", none: "Es gibt keine Zahlungen.",
      facts: [
        "amount": "Betrag", "currency": "Währung", "orderId": "Bestellung", "lastFour": "Karte",
        "createdAt": "Begonnen", "confirmedAt": "Bestätigt",
        "cancelledAt": "Abgebrochen", "refundedAt": "Erstattet",
      ]))

  private static let french = WalletTexts(
    enrolled: "La banque est ajoutée",
    enrolledCards: .init("1 carte est dans votre portefeuille.") {
      "\($0) cartes sont dans votre portefeuille."
    },
    closePage: "Vous pouvez fermer cette page.", notEnrolled: "La banque n’est pas ajoutée",
    openApp: "Ouvrir l’application",
    elsewhere: """
      Cette opération a commencé dans un autre navigateur. Continuez là-bas, ou ouvrez l’application et recommencez.
      """,
    moment: "Un instant",
    underway: "La banque n’a pas encore répondu. Cette page réessaie d’elle-même.",
    busy: "Beaucoup de personnes ajoutent des cartes en ce moment.",
    triesAgain: "Cette page réessaie d’elle-même.",
    goBack: "Veuillez revenir en arrière et réessayer.",
    question: "Ajouter ces cartes ?",
    begun:
      "Une application a lancé cette opération. Voulez-vous ajouter vos cartes à ce portefeuille ?",
    bank: "Votre banque", wallet: "Portefeuille de", addCards: "Ajouter les cartes",
    notYours: "Si ce n’est pas votre portefeuille, fermez cette page. Rien ne sera ajouté.",
    consentWords: { "Payer \($0) à \($1) avec \($2)." },
    payment: "Paiement", shop: "Boutique", amount: "Montant", order: "Commande",
    payInApp: "Payer dans l’application",
    scan: "Ou scannez ce code avec le téléphone qui a l’application.",
    picture: "Code QR de ce paiement", paid: "Ce paiement est confirmé.",
    banks: .init(
      title: "Banques", none: "Aucune banque n’est reliée.",
      facts: ["enrolledAt": "Reliée", "cards": "Cartes"],
      removal: .init(
        button: "Retirer", question: "Retirer cette banque ?",
        consequence: """
          Ses cartes quittent aussi votre portefeuille. Vous pourrez ajouter la banque de nouveau.
          """,
        done: "La banque et ses cartes sont retirées.")),
    payments: .init(
      title: "Paiements", none: "Il n’y a pas de paiement.",
      facts: [
        "amount": "Montant", "currency": "Monnaie", "orderId": "Commande", "lastFour": "Carte",
        "createdAt": "Commencé", "confirmedAt": "Confirmé",
        "cancelledAt": "Annulé", "refundedAt": "Remboursé",
      ]))

  private static let spanish = WalletTexts(
    enrolled: "El banco está añadido",
    enrolledCards: .init("Hay una tarjeta en su cartera.") { "Hay \($0) tarjetas en su cartera." },
    closePage: "Puede cerrar esta página.", notEnrolled: "El banco no se ha añadido",
    openApp: "Abrir la aplicación",
    elsewhere: """
      Este proceso empezó en otro navegador. Siga allí, o abra la aplicación y empiece de nuevo.
      """,
    moment: "Un momento",
    underway: "El banco aún no ha respondido. Esta página lo intenta de nuevo por sí sola.",
    busy: "Ahora hay muchas personas añadiendo tarjetas.",
    triesAgain: "Esta página lo intenta de nuevo por sí sola.",
    goBack: "Vuelva atrás e inténtelo de nuevo.", question: "¿Añadir estas tarjetas?",
    begun: "Una aplicación ha iniciado este proceso. ¿Quiere añadir sus tarjetas a esta cartera?",
    bank: "Su banco", wallet: "Cartera de", addCards: "Añadir las tarjetas",
    notYours: "Si esta no es su cartera, cierre esta página. Entonces no se añade nada.",
    consentWords: { "Pagar \($0) a \($1) con \($2)." },
    payment: "Pago", shop: "Tienda", amount: "Importe", order: "Pedido",
    payInApp: "Pagar en la aplicación",
    scan: "O escanee este código con el teléfono que tiene la aplicación.",
    picture: "Código QR de este pago", paid: "Este pago está confirmado.",
    banks: .init(
      title: "Bancos", none: "No hay ningún banco conectado.",
      facts: ["enrolledAt": "Conectado", "cards": "Tarjetas"],
      removal: .init(
        button: "Quitar", question: "¿Quitar este banco?",
        consequence: "Sus tarjetas también salen de su cartera. Podrá añadir el banco de nuevo.",
        done: "El banco y sus tarjetas se han quitado.")),
    payments: .init(
      title: "Pagos", none: "No hay pagos.",
      facts: [
        "amount": "Importe", "currency": "Moneda", "orderId": "Pedido", "lastFour": "Tarjeta",
        "createdAt": "Iniciado", "confirmedAt": "Confirmado",
        "cancelledAt": "Cancelado", "refundedAt": "Reembolsado",
      ]))

  private static let persian = WalletTexts(
    enrolled: "بانک افزوده شد",
    enrolledCards: .init("یک کارت در کیف پول شماست.") { "\($0) کارت در کیف پول شماست." },
    closePage: "می‌توانید این صفحه را ببندید.", notEnrolled: "بانک افزوده نشد",
    openApp: "باز کردن برنامه",
    elsewhere: """
      این کار در مرورگر دیگری آغاز شده است. آنجا ادامه دهید یا برنامه را باز کنید و از نو آغاز کنید.
      """,
    moment: "چند لحظه", underway: "بانک هنوز پاسخ نداده است. این صفحه خودش دوباره تلاش می‌کند.",
    busy: "اکنون افراد زیادی در حال افزودن کارت هستند.",
    triesAgain: "این صفحه خودش دوباره تلاش می‌کند.", goBack: "لطفاً بازگردید و دوباره تلاش کنید.",
    question: "این کارت‌ها افزوده شوند؟",
    begun: "برنامه‌ای این کار را آغاز کرده است. می‌خواهید کارت‌های خود را به این کیف پول بیفزایید؟",
    bank: "بانک شما", wallet: "کیف پولِ", addCards: "افزودن کارت‌ها",
    notYours: "اگر این کیف پول شما نیست، این صفحه را ببندید. آنگاه چیزی افزوده نمی‌شود.",
    consentWords: { "پرداخت \($0) به \($1) با \($2)." },
    payment: "پرداخت", shop: "فروشگاه", amount: "مبلغ", order: "سفارش",
    payInApp: "پرداخت در برنامه",
    scan: "یا این کد را با تلفنی که برنامه را دارد اسکن کنید.",
    picture: "کد QR این پرداخت", paid: "این پرداخت تأیید شده است.",
    banks: .init(
      title: "بانک‌ها", none: "هیچ بانکی متصل نیست.",
      facts: ["enrolledAt": "زمان اتصال", "cards": "کارت‌ها"],
      removal: .init(
        button: "برداشتن", question: "این بانک برداشته شود؟",
        consequence:
          "کارت‌هایش نیز از کیف پول شما برداشته می‌شوند. می‌توانید بانک را دوباره بیفزایید.",
        done: "بانک و کارت‌هایش برداشته شدند.")),
    payments: .init(
      title: "پرداخت‌ها", none: "پرداختی وجود ندارد.",
      facts: [
        "amount": "مبلغ", "currency": "واحد پول", "orderId": "سفارش", "lastFour": "کارت",
        "createdAt": "آغاز", "confirmedAt": "تأیید",
        "cancelledAt": "لغو", "refundedAt": "بازپرداخت",
      ]))
}
