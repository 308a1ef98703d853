package import Base
import Store

/// Messages as they are mailed (RFC 5322, lines end with LF: sendmail's form).
package enum Message {
  /// The mail with a login code.
  ///
  /// - Parameter recipient: has no control characters and no white space, so that it cannot end its
  ///   line.
  package static func loginCode(
    _ code: String, to recipient: String, from sender: String, id: String, at now: Timestamp
  ) -> [UInt8] {
    precondition(!recipient.hasControls && !sender.hasControls, "an address holds no line end")
    let domain = sender.split(separator: "@").last ?? "localhost"
    return Array(
      """
      Date: \(date(now))
      From: <\(sender)>
      To: <\(recipient)>
      Message-ID: <\(id)@\(domain)>
      Subject: Your sign-in code
      Auto-Submitted: auto-generated
      MIME-Version: 1.0
      Content-Type: text/plain; charset=utf-8
      Content-Transfer-Encoding: 8bit

      Your sign-in code is \(code)

      Type it in the app within five minutes. It works once, and on the device that asked for it.
      If you did not ask for it, you need not do anything: nobody can sign in without it.

      """.utf8)
  }

  /// RFC 5322 §3.3, in UTC.
  private static func date(_ instant: Timestamp) -> String {
    let text = instant.rfc3339
    func part(_ from: Int, _ count: Int) -> Substring { text.dropFirst(from).prefix(count) }
    let months = [
      "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    let month = months[Int(part(5, 2))! - 1]
    return "\(part(8, 2)) \(month) \(part(0, 4)) \(part(11, 8)) +0000"
  }
}
