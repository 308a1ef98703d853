extension Messages {
  /// What a person can do about a member at fault, for the reasons that any member may have.
  ///
  /// People cannot change what only the app sends, so they are told to update it.
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

  /// What people type themselves.
  private func entry(_ member: String) -> Entry? {
    switch member {
    case "email": email
    case "name": name
    case "code": code
    default: nil
    }
  }
}
