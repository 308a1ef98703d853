import Base
import HTTP
import Store

/// `GET /api/mobile/enrollment/list`: lists the banks at which the account is enrolled.
func getEnrollments(_ request: Request, in context: borrowing Context) throws -> Response {
  let caller = try context.authenticate(request)
  let enrollments = try context.records.enrollments.list(of: caller)
  return .json { json in
    json.member(
      "enrollments",
      array: { array in
        for enrollment in enrollments { array.object { $0.members(of: enrollment) } }
      })
  }
}

/// `DELETE /api/mobile/enrollment/:id`: ends the enrollment and removes its cards from the wallet.
///
/// - Throws: ``Failure/notFound(_:)`` if the account has no such enrollment.
func removeEnrollment(_ request: Request, in context: borrowing Context) throws -> Response {
  let caller = try context.authenticate(request)
  guard try context.records.enrollments.remove(context.pathItem, by: caller) else {
    throw Failure.notFound(\.enrollmentGone)
  }
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

extension Endpoint {
  static var getEnrollments: Endpoint {
    Endpoint(API.getEnrollments) {
      Operation(
        "Lists the banks at which the account is enrolled.", .bearer,
        answers: .json([
          "enrollments": .array(of: [
            "id": .string, "bsimId": .string, "bankName": .string, "logoUrl": .uri.orNull,
            "cardCount": .integer, "enrolledAt": .time,
          ])
        ]))
    }
  }

  static var removeEnrollment: Endpoint {
    Endpoint(API.removeEnrollment) {
      Operation(
        "Ends an enrollment and removes its cards from the wallet.", .bearer,
        item: .init("The id of an enrollment."), answers: .success,
        errors: [.notFound(\.enrollmentGone)])
    }
  }
}
