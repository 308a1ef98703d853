extension Messages {
  /// Tells people how to correct an invalid member, for the reasons that any member may have.
  ///
  /// People cannot change a value that only the app sends, so the sentence asks them to update the app.
  func sentence(about detail: Failure.Detail) -> String {
    let member = String(detail.field.prefix { $0 != "." })
    let entry = entry(member)
    return switch detail.reason {
    case _ where member.isEmpty: noObject
    case "too_long": tooLong(entry?.subject ?? sentValue(member))
    case "control_character": hasControls(entry?.subject ?? sentValue(member))
    case _ where entry != nil: entry!.request
    case "missing", "empty": notSent(member)
    default: wrong(member)
    }
  }

  /// The texts of a member that people type themselves.
  private func entry(_ member: String) -> Entry? {
    switch member {
    case "email": email
    case "name": name
    case "code": code
    default: nil
    }
  }
}
