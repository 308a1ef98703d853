import Base
import Cryptography
import HTTP
import Store

/// `GET /account`: shows the page for the browser's visit: to sign in, or to see the account.
func showAccount(_ request: Request, in context: borrowing Context) throws -> Response {
  let language = request.messageLanguage
  let done = request.queryItem("done") ?? ""
  let section = context.accountSections.first { $0.data == done }?.texts(language)
  return try context.accountPage(
    of: request, note: section?.removal?.done ?? AccountTexts(in: language).note(after: done))
}

extension AccountTexts {
  /// The text after a form, selected by the word `done` in the page's address.
  fileprivate func note(after done: String) -> String? {
    switch done {
    case "name": notes.nameChanged
    case "email": notes.linkMailed
    case "sessions": signedOutDevice
    case "signed-out": notes.signedOut
    case "deleted": notes.deleted
    default: nil
    }
  }
}

extension Context {
  /// The families' sections for an account, and the section of its events.
  var accountSections: [AccountSection] {
    application.families.flatMap(\.sections) + [.events]
  }

  private var visitCookie: BrowserCookie { .visit(at: settings.publicURL) }

  /// The page for the state of the browser's visit.
  ///
  /// - Parameter build: Makes the page of a signed-in person. If it throws, the person sees the reason.
  func accountPage(
    of request: Request, status: Int = 200, problem: FieldProblem? = nil, note: String? = nil,
    _ build: ((AccountPage, AccountOverview) throws(FormRefusal) -> Page)? = nil
  ) throws -> Response {
    let token = base64URLEncoded(random(32))
    let challenge = random(32)
    let page = AccountPage(
      language: request.messageLanguage, now: now, party: settings.relyingParty.id, token: token,
      problem: problem, note: note)
    let email = problem?.field == "email" ? request.formItem("email") ?? "" : ""
    guard let visit = visit(of: request),
      let state = try records.accountVisits.show(
        visit, form: sha256(token), challenge: sha256(challenge))
    else { return page.signIn(email: email).response(status: status) }
    switch state {
    case .awaitsCode: return page.code.response(status: status)
    case .awaitsPasskey:
      return page.signIn(email: email, challenge: base64URLEncoded(challenge))
        .response(status: status)
    case .signedIn(let account):
      do throws(FormRefusal) {
        let built = try build?(page, account)
        return (built ?? page.overview(account, sections: accountSections))
          .response(status: status)
      } catch {
        return try accountPage(of: request, after: error)
      }
    }
  }

  /// SHA-256 of the browser's cookie; nil without a cookie.
  func visit(of request: Request) -> [UInt8]? {
    visitCookie.sentValue(in: request).map { sha256($0) }
  }

  /// Makes a visit with a new cookie, which replaces the browser's current visit. The answer must set the cookie.
  func makeVisit(for request: Request) -> (visit: NewVisit, cookie: String) {
    let cookie = base64URLEncoded(random(32))
    return (NewVisit(id: sha256(cookie), replacing: visit(of: request)), cookie)
  }

  /// Handles a form, and then shows the page `/account`, also after an error.
  ///
  /// - Parameter act: Returns the word `done` for the page's address, and a new cookie to set, if any.
  /// - Throws: ``Failure/foreignForm``.
  func fulfill(
    _ request: Request, _ act: () throws -> (done: String, cookie: String?)
  ) throws -> Response {
    guard isOfOwnPage(request) else { throw Failure.foreignForm }
    do {
      let (done, cookie) = try act()
      var response = Response(
        status: 303, fields: [("Location", done.isEmpty ? "/account" : "/account?done=\(done)")])
      if let cookie { response.fields.append(("Set-Cookie", visitCookie.setting(cookie))) }
      return response
    } catch let failure as Failure where failure.detail != nil {
      let problem = FieldProblem(
        field: failure.detail!.field, sentence: failure.text(in: request.messageLanguage))
      return try accountPage(of: request, status: failure.status, problem: problem)
    } catch let refusal as FormRefusal {
      return try accountPage(of: request, after: refusal)
    } catch let refusal as Refusal where refusal.isBan {
      try refusal.writeAudit(in: records)
      return try accountPage(
        of: request, status: 403, note: refusal.failure.text(in: request.messageLanguage))
    } catch let limited as RateLimited {
      try limited.writeAudit(in: records)
      let failure = limited.failure
      var response = try accountPage(
        of: request, status: failure.status,
        note: failure.text(in: request.messageLanguage))
      response.fields += failure.fields
      return response
    }
  }

  private func accountPage(of request: Request, after refusal: FormRefusal) throws -> Response {
    let notes = AccountTexts(in: request.messageLanguage).notes
    switch refusal {
    case .stale: return try accountPage(of: request, status: 409, note: notes.stale)
    case .signedOut: return try accountPage(of: request, status: 403, note: notes.signInFirst)
    case .gone: return try accountPage(of: request, status: 404, note: notes.gone)
    case .noFreshProof:
      return try accountPage(of: request, status: 403, note: notes.proofTooOld) { page, account in
        page.signInAgain(email: account.profile.account.email)
      }
    }
  }

  /// The visit and the token of the form that the browser sends.
  ///
  /// - Throws: ``FormRefusal/signedOut`` without a cookie.
  func sentForm(_ request: Request) throws -> SentForm {
    guard let visit = visit(of: request) else { throw FormRefusal.signedOut }
    return SentForm(visit: visit, tokenHash: sha256(request.formItem("token") ?? ""))
  }

  /// Whether the request comes from a page of this site, not of another site.
  private func isOfOwnPage(_ request: Request) -> Bool {
    request.fieldValues("Origin").allSatisfy(settings.origins.contains)
  }
}

extension BrowserCookie {
  /// The cookie of a browser's visit to `/account`.
  static func visit(at publicURL: String) -> BrowserCookie {
    BrowserCookie("account", at: publicURL, lifetime: NewVisit.lifetime, sameSite: "Strict")
  }
}

extension Failure {
  fileprivate static let foreignForm = Failure.forbidden(\.foreignForm)
}

extension Endpoint {
  static var showAccount: Endpoint {
    Endpoint(API.showAccount) {
      Operation(
        "Shows the page of the account, or its sign-in.", .browser,
        query: [.init("done", "A word for the text at the top of the page.")],
        answers: .page("The page."))
    }
  }
}

extension Access {
  /// The cookie of a browser's visit. Without one, a page offers to sign in.
  static let browser = Access(alternatives: [[], [.browserCookie]], errors: [])
}

extension Operation {
  /// A form of the page `/account`. Each page has a new `token`.
  static func form(_ text: String, _ items: Schema, errors: [Failure] = [], limits: [Limit] = [])
    -> Operation
  {
    Operation(
      text, .browser, body: .form((["token": .string] as Schema).merging(items)),
      answers: .redirect(303, "Done. The page shows the outcome."),
      errors: errors + [
        .foreignForm, .accountBanned, .validation(field: "", reason: "wrong"),
      ] + Failure.ofForms, limits: limits)
  }
}

extension Failure {
  /// The pages after a form that the account refuses.
  fileprivate static var ofForms: [Failure] {
    let notes = AccountTexts.english.notes
    return [
      Failure(status: 409, message: notes.stale), .itemGone, .signInFirst, .proofTooOld,
    ]
  }

  static let signInFirst = Failure(status: 403, message: AccountTexts.english.notes.signInFirst)

  static let proofTooOld = Failure(status: 403, message: AccountTexts.english.notes.proofTooOld)
  static let itemGone = Failure(status: 404, message: AccountTexts.english.notes.gone)
}
