import Base
import Cryptography
import HTTP
import Store

/// `GET /api/mobile/profile`: returns the name and the e-mail address of the account.
func getProfile(_ request: Request, in context: borrowing Context) throws -> Response {
  let caller = try context.authenticate(request)
  return .profile(try context.records.profiles.profile(of: caller))
}

/// `PUT /api/mobile/profile` {name?, email?}: changes the name at once. A new address must be confirmed by
/// a mailed link; the answer is the same whether an account has that address or not.
///
/// - Throws: ``Failure/validation``; ``Failure/freshProofRequired`` for a new
///   address; ``Failure/tooManyRequests(retryAfter:)``.
func changeProfile(_ request: Request, in context: borrowing Context) throws -> Response {
  let startedAt = ContinuousClock.now
  let caller = try context.authenticate(request)
  let body = try request.decode(ProfileBody.self)
  guard body.name != nil || body.email != nil else {
    throw Failure.validation(field: "name", reason: "missing")
  }
  var change: NewAddressChange?
  if let email = body.email { change = context.makeAddressChange(to: email.text) }
  let profile = try context.records.profiles.change(
    name: body.name?.text, address: change, by: caller)
  if change != nil {
    context.wakeCompanion()
    context.waitForAnswerTime(since: startedAt)
  }
  return .profile(profile)
}

private struct ProfileBody: Decodable {
  let name: ShortText?
  let email: EmailAddress?
}

/// `DELETE /api/mobile/account`: deletes the account with everything that it owns.
///
/// - Throws: ``Failure/freshProofRequired``.
func deleteAccount(_ request: Request, in context: borrowing Context) throws -> Response {
  try context.records.accounts.delete(by: try context.authenticate(request))
  context.wakeCompanion()
  return .json { json in json.member("success", true) }
}

extension Response {
  /// The app reads `displayName` from the answer to PUT, and `profile.displayName` from the answer to GET.
  fileprivate static func profile(_ profile: Profile) -> Response {
    .json { json in
      json.member("success", true)
      json.members(of: profile)
      json.member("profile", object: { $0.members(of: profile) })
    }
  }
}

extension JSONWriter {
  fileprivate mutating func members(of profile: Profile) {
    member("name", profile.account.name)
    member("displayName", profile.account.name)
    member("email", profile.account.email)
    member("emailVerified", profile.isProven)
    member("pendingEmail", profile.pendingEmail)
    member("profileImageUrl", nil as String?)
  }
}

extension Endpoint {
  static var getProfile: Endpoint {
    Endpoint(API.getProfile) {
      Operation(
        "Returns the name and the e-mail address of the account.", .bearer,
        answers: .json(.profileAnswer))
    }
  }

  static var changeProfile: Endpoint {
    Endpoint(API.changeProfile) {
      Operation(
        """
        Changes the name at once. A new e-mail address must be confirmed with a mailed link; the answer is the same whether an \
        account has that address or not.
        """, .bearer, body: .json(ProfileBody.self), answers: .json(.profileAnswer),
        errors: [.freshProofRequired], limits: [.addressChanges, .addressChangesByAddress])
    }
  }

  static var deleteAccount: Endpoint {
    Endpoint(API.deleteAccount) {
      Operation(
        "Deletes the account with everything that it owns.", .bearer, answers: .success,
        errors: [.freshProofRequired])
    }
  }
}

extension Schema {
  fileprivate static let profile: Schema = [
    "name": .string, "displayName": .string, "email": .email, "emailVerified": .boolean,
    "pendingEmail": .email.orNull, "profileImageUrl": .uri.orNull,
  ]

  fileprivate static let profileAnswer = profile.merging([
    "success": .boolean, "profile": profile.named("Profile"),
  ])
}
