extension Family {
  /// Banks, cards and payments.
  static var wallet: Family {
    Family(
      "wallet", "Banks, cards and payments.",
      paths: [
        "/api/mobile/wallet/", "/api/mobile/enrollment/", "/api/mobile/payment/",
        "/api/mobile/payments", "/api/wallet/", "/api/enrollment/", "/api/merchant/", "/pay/",
      ],
      errors: .wallet,
      routes: [
        Route("GET", "/api/mobile/wallet/summary", .getSummary),
        Route("GET", "/api/mobile/wallet/cards", .getCards),
        Route("GET", "/api/wallet/cards", .getCards),
        Route("POST", "/api/mobile/wallet/cards/:id/default", .makeCardDefault),
        Route("DELETE", "/api/mobile/wallet/cards/:id", .removeCard),
        Route("GET", "/api/enrollment/start/:bsimId", changes: true, .startEnrollment),
        Route("POST", "/api/mobile/enrollment/start/:bsimId", .startEnrollmentInApp),
        Route("GET", "/api/enrollment/callback/:bsimId", changes: true, .finishEnrollment),
        Route("POST", "/api/enrollment/callback/:bsimId", .finishConfirmedEnrollment),
        Route("GET", "/api/mobile/enrollment/banks", .getBanks),
        Route("GET", "/api/mobile/enrollment/list", .getEnrollments),
        Route("DELETE", "/api/mobile/enrollment/:id", .removeEnrollment),
        Route("POST", "/api/merchant/payment/request", .requestPayment),
        Route("POST", "/api/merchant/payment/verify", .verifyStatement),
        Route("GET", "/api/merchant/payments", .getMerchantPayments),
        Route("GET", "/api/merchant/payment/:requestId", .getMerchantPayment),
        Route("POST", "/api/merchant/payment/:requestId/cancel", .cancelMerchantPayment),
        Route("POST", "/api/merchant/payment/:requestId/refund", .refundMerchantPayment),
        Route("POST", "/api/merchant/payment/initiate", .initiatePayment),
        Route("GET", "/.well-known/jwks.json", .getPaymentKeySet),
        Route("POST", "/api/merchant/payment/confirm", .confirmPayment),
        Route("GET", "/api/mobile/payments", .getPayments),
        Route("GET", "/api/mobile/payment/pending", .getPendingPayments),
        Route("GET", "/api/mobile/payment/:requestId", .getPayment),
        Route("POST", "/api/mobile/payment/:requestId/approve", .approvePayment),
        Route("POST", "/api/mobile/payment/:requestId/cancel", .cancelPayment),
        Route("GET", "/pay/:requestId", .getPaymentPage),
      ],
      sections: [.banks, .payments],
      errorPage: { failure, request in
        let language = request.messageLanguage
        if request.path.hasPrefix("/pay/") { return .paymentError(failure, in: language) }
        let isPage = request.path.hasPrefix("/api/enrollment/callback/")
        return isPage ? .enrollmentError(failure, in: language) : nil
      })
  }
}

extension ErrorShape {
  /// The form of errors. A request with a merchant's key comes from a server, so a program reads the answer.
  fileprivate static var wallet: ErrorShape {
    var shape = ErrorShape.coded
    shape.language = { $0.field("x-api-key") == nil ? $0.messageLanguage : nil }
    return shape
  }
}

extension AccountSection {
  fileprivate static let banks = AccountSection(of: "banks", heading: "bank") {
    WalletTexts(in: $0).banks
  }

  fileprivate static let payments = AccountSection(of: "payments", heading: "merchant") {
    WalletTexts(in: $0).payments
  }
}
