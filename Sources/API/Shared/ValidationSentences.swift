/// What people type themselves, and what to tell them where it is missing.
private let requests = [
  "email": "Enter your e-mail address.", "name": "Enter a name.",
  "code": "Enter the code from the mail.",
]

extension Failure.Detail {
  /// What a person can do about it, for the reasons that any member may have.
  ///
  /// People cannot change what only the app sends, so they are told to update it.
  var sentence: String {
    let member = field.prefix { $0 != "." }
    return switch reason {
    case _ where member.isEmpty: "The app sent no JSON object. Update the app and try again."
    case "too_long": "The \(member) is too long. Shorten it and try again."
    case "control_character":
      "The \(member) has characters that cannot be shown. Remove them and try again."
    case _ where requests[String(member)] != nil: requests[String(member)]!
    case "missing", "empty": "The app sent no \(member). Update the app and try again."
    default: "The app sent a wrong \(member). Update the app and try again."
    }
  }
}
