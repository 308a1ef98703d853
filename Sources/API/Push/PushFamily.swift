import HTTP
import Store

extension Family {
  /// Push tokens and test notifications, also for pages of other origins.
  static let push = Family(
    "push", "Push tokens and test notifications, also for pages of other origins.",
    paths: ["/api/push/"], errors: .push,
    routes: [
      Route("POST", "/api/push/register", .addPushToken),
      Route("OPTIONS", "/api/push/register", .answerPreflight),
      Route("POST", "/api/push/unregister", .removePushTokens),
      Route("OPTIONS", "/api/push/unregister", .answerPreflight),
      Route("GET", "/api/push/vapid-key", .getVAPIDKey),
      Route("POST", "/api/push/subscribe", .addWebSubscription),
      Route("OPTIONS", "/api/push/subscribe", .answerPreflight),
      Route("POST", "/api/push/unsubscribe", .removeWebSubscription),
      Route("OPTIONS", "/api/push/unsubscribe", .answerPreflight),
      Route("POST", "/api/push/test", .testPush),
      Route("OPTIONS", "/api/push/test", .answerPreflight),
    ],
    before: { request, context in try CrossOriginPolicy(context.settings).check(request) },
    after: { response, request, context in
      CrossOriginPolicy(context.settings).mark(&response, to: request)
    })
}

extension ErrorShape {
  /// `{"error": message}`, with the members that the failure adds.
  static let push = ErrorShape { failure, _, json in
    json.member("error", failure.pushMessage)
    failure.diagnostics?(&json)
  }
}

extension Failure {
  /// The message of the failure; the contract has its own messages for 401.
  fileprivate var pushMessage: String {
    guard status == 401 else { return message }
    return message == Failure.noCredentials.message
      ? "Unauthorized - missing credentials" : "Unauthorized - invalid token"
  }
}

extension Operation {
  /// An operation that pages of other origins may call.
  static func push(
    _ text: String, _ access: Access = .bearerByName, body: Schema? = nil, answer: Answer,
    errors: [Failure] = [], limits: [Limit] = []
  ) -> Operation {
    Operation(
      text, access,
      fields: [.init("Origin", "The origin of the page. Another app sends an allowed one.")],
      body: body.map { .json($0.orNull, isRequired: false) }, answers: answer,
      errors: errors + [.foreignOrigin], limits: limits)
  }
}

extension Access {
  fileprivate static let bearerByName = Access(
    alternatives: [[.accessToken, .username], [.accessToken, .username, .deviceCredential]],
    errors: Access.bearer.errors)
}
