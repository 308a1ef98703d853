// Messages of refusals that several suites expect.

let wrongCode = "This code is wrong or too old. Type the newest one, or ask for another."
let wrongCredential = "The app could not show that this is your device. Sign in again."
let noDevice = "Your account does not have this device. Reload the list, or sign in on the device."
let noBiometricKey =
  "Nobody has set up biometric sign-in on this device. Sign in with a code first."
let codeSent =
  "If an account has this address, we have mailed it a code. Enter the code within five minutes."
let usePasskey = "Sign in with your passkey, or ask for a code by mail."
