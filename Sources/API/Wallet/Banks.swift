import Base
import HTTP
import Store

/// `GET /api/mobile/enrollment/banks`: the banks at which the account may enrol.
func getBanks(_ request: Request, in context: borrowing Context) throws -> Response {
  let caller = try context.authenticate(request)
  let banks = try context.database.banks(for: caller, at: context.now)
  return .json { json in
    json.member(
      "banks",
      array: { array in
        for bank in banks {
          array.object {
            $0.member("bsimId", bank.bsimID)
            $0.member("name", bank.name)
            $0.member("logoUrl", bank.logoURL)
          }
        }
      })
  }
}

/// `GET /api/mobile/enrollment/list`: the banks at which the account is enrolled.
func getEnrollments(_ request: Request, in context: borrowing Context) throws -> Response {
  let caller = try context.authenticate(request)
  let enrollments = try context.database.enrollments(of: caller, at: context.now)
  return .json { json in
    json.member(
      "enrollments",
      array: { array in
        for enrollment in enrollments { array.object { $0.members(of: enrollment) } }
      })
  }
}

/// `DELETE /api/mobile/enrollment/:id`: ends the enrolment and takes its cards out of the wallet.
///
/// - Throws: ``Failure/notFound(_:)`` for an enrolment that is not the account's.
func removeEnrollment(_ request: Request, in context: borrowing Context) throws -> Response {
  let caller = try context.authenticate(request)
  guard
    try context.database.remove(enrollment: context.pathItem, by: caller, at: context.now)
  else { throw Failure.notFound("Enrollment not found") }
  return .json { json in json.member("success", true) }
}

extension JSONWriter {
  fileprivate mutating func members(of enrollment: Enrollment) {
    member("id", enrollment.id)
    member("bsimId", enrollment.bank.bsimID)
    member("bankName", enrollment.bank.name)
    member("logoUrl", enrollment.bank.logoURL)
    member("cardCount", enrollment.cardCount)
    member("enrolledAt", enrollment.enrolledAt.rfc3339)
  }
}
