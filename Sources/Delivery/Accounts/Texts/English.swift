extension MailTexts {
  static let english = MailTexts(
    codeIs: "Your sign-in code is",
    loginCode: Text(
      "Your sign-in code",
      """
      Type it where you asked for it, within five minutes. It works once, and only there. If \
      you did not ask for it, you need not do anything: nobody can sign in without it.
      """),
    handsOver: """
      Nobody has confirmed this address yet. This code does so, and it signs out the phone on which the account \
      was created, unless you type it there while it is signed in. To keep that phone signed in, first open the mail \
      "Is this you?", and say yes.
      """,
    confirmation: Text(
      "Is this you?",
      """
      Somebody has created an account with your e-mail address. Please tell us on this page whether it was \
      you. If you say no, the account is deleted. Until you say yes, the first sign-in with a mailed code elsewhere \
      signs out the phone on which the account was created.
      """),
    newDevice: Text(
      "Your account is used on a new device",
      "Somebody has signed in to your account on a device on which it was not used before."),
    passkeyAdded: Text(
      "A passkey was added to your account",
      "Somebody has added a passkey to your account. Whoever has it can sign in."),
    biometricKeyAdded: Text(
      "Face or fingerprint sign-in was turned on",
      "Somebody has turned on sign-in by face or fingerprint for your account on a device."),
    refreshReused: Text(
      "We have signed out one of your devices",
      """
      Somebody used a key of this device a second time. It may have been copied, so we have signed the \
      device out. Please sign in on it again.
      """),
    addressChange: Text(
      "Your new e-mail address",
      """
      Somebody wants to use this e-mail address for their account. If it was you, say so on \
      this page within a day. If it was not you, you need not do anything: the address is not \
      used then.
      """),
    addressChangeBegun: Text(
      "Another e-mail address was asked for",
      """
      Somebody who is signed in to your account wants it to have another e-mail address. It gets that \
      address when somebody says yes there, within a day. Codes and messages then go there.
      """),
    addressChanged: Text(
      "Your account has a new e-mail address",
      """
      Your account has another e-mail address now. Codes and messages go there, and no more to \
      this address. If it was not you, ask whoever runs this site for help at once.
      """),
    deviceRenewed: Text(
      "A device was registered again",
      """
      Somebody who is signed in to your account on a device has registered the device again. \
      What they got keeps them signed in there, and does not open your account any further.
      """),
    accountDeleted: Text(
      "Your account is deleted",
      """
      Your account is deleted with everything that it had. If it was not you, ask whoever runs \
      this site for help at once.
      """),
    browserSignedIn: Text(
      "Somebody has opened your account in a browser",
      """
      Somebody has signed in on the page where your devices, passkeys and e-mail address can be changed.
      """),
    keysRemoved: Text(
      "Sign-in keys were removed from your account",
      """
      Somebody has removed a passkey, or sign-in by face or fingerprint, from your account. You can still sign \
      in with a mailed code.
      """),
    accountBanned: Text(
      "Your account is closed",
      """
      The people who run this site have closed your account. You are signed out everywhere, and nobody can \
      sign in to it. Nothing of it is deleted. If you think that this is wrong, ask whoever runs this \
      site.
      """),
    accountUnbanned: Text(
      "Your account is open again",
      """
      The people who run this site have opened your account again. You can sign in as before, and \
      everything in it is still there.
      """),
    addressProven: Text(
      "Your address is confirmed",
      "Your e-mail address is confirmed. These can use your account:"),
    removeAll: "If you do not know one of them, remove all of them here, and sign in again:",
    biometricKey: "Face or fingerprint", passkey: "Passkey",
    ifItWasNotYou: "If it was not you, undo it here:",
    device: "Device", address: "From", time: "When")
}
