import Base

extension Family {
  /// Enrolls the keys with which apps prove that they are genuine.
  static let attestation = Family(
    "attestation", "Enrolls the keys with which apps prove that they are genuine.",
    paths: ["/api/app-attestation/"], errors: .attestation,
    routes: [
      Route("POST", "/api/app-attestation/challenge", .requestAttestationChallenge),
      Route("POST", "/api/app-attestation/verify", .enrollAttestedKey),
      Route("POST", "/api/app-attestation/verify-key", .checkAttestedKey),
    ])
}

extension ErrorShape {
  /// `{"success": false, "error": message}`. Programs read the message, so it names the member and the reason.
  static let attestation = ErrorShape { failure, _, json in
    json.member("success", false)
    json.member("error", failure.technicalMessage)
  }
}
