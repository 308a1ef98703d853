import Testing

/// Expects exactly an error body of ``ErrorShape/message``.
func expect(
  _ answer: Answer, _ status: Int, _ text: String, sourceLocation: SourceLocation = #_sourceLocation
) {
  #expect(answer.status == status, sourceLocation: sourceLocation)
  #expect(answer.text == #"{"error":"\#(text)"}"#, sourceLocation: sourceLocation)
}
