import Base
import Cryptography
import HTTP
import Store

/// `GET /account`: the page of the browser's visit, be it to sign in or to see the account.
func showAccount(_ request: Request, in context: borrowing Context) throws -> Response {
  let language = request.messageLanguage
  let done = request.queryItem("done") ?? ""
  let section = context.accountSections.first { $0.holding == done }?.texts(language)
  return try context.accountPage(
    of: request, note: section?.removal?.done ?? AccountTexts(in: language).note(after: done))
}

extension AccountTexts {
  /// What is said after something was done, by the word in the address.
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
  /// What the families show of an account, and what happened to it.
  var accountSections: [AccountSection] {
    application.families.flatMap(\.sections) + [.events]
  }

  var visitCookie: BrowserCookie {
    BrowserCookie(
      "account", at: settings.publicURL, lifetime: NewVisit.lifetime, sameSite: "Strict")
  }

  /// The page for a browser as far as it has come.
  ///
  /// - Parameter build: makes the page of somebody who has signed in. Where it refuses, they see why.
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

  /// SHA-256 of the browser's cookie, if it shows one.
  func visit(of request: Request) -> [UInt8]? {
    visitCookie.sentValue(in: request).map { sha256($0) }
  }

  /// A visit with a new cookie, which the answer must set, in place of the one that the browser shows.
  func makeVisit(for request: Request) -> (visit: NewVisit, cookie: String) {
    let cookie = base64URLEncoded(random(32))
    return (NewVisit(id: sha256(cookie), replacing: visit(of: request)), cookie)
  }

  /// Does what a form asks for, and then shows the page at `/account`, also where it was not done.
  ///
  /// - Parameter act: returns the word of what was done, and the cookie to set, if there is a new one.
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

  /// The form that the browser sends: which visit, and which token.
  ///
  /// - Throws: ``FormRefusal/signedOut`` without a cookie.
  func sentForm(_ request: Request) throws -> SentForm {
    guard let visit = visit(of: request) else { throw FormRefusal.signedOut }
    return SentForm(visit: visit, tokenHash: sha256(request.formItem("token") ?? ""))
  }

  /// Whether no other site has made the browser send this.
  private func isOfOwnPage(_ request: Request) -> Bool {
    request.fieldValues("Origin").allSatisfy(settings.origins.contains)
  }
}

extension Failure {
  fileprivate static let foreignForm = Failure.forbidden(\.foreignForm)
}
