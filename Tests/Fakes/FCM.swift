import ArgumentParser
import Foundation
import Support

/// Google's token endpoint and Firebase Cloud Messaging over HTTP.
struct FCM: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "fcm",
    abstract: "Google's Firebase Cloud Messaging.",
    discussion: """
      FOLDER/faults says whom it refuses, where there is such a file: a line for each device token, \
      TOKEN STATUS ERROR-CODE, as in "abc 404 UNREGISTERED". * stands for every token.

      The folder gets: service-account.json (the file for FCM_SERVICE_ACCOUNT_FILE), private-key.pem (unless it \
      is there), port (the port number, when connections are taken) and received.jsonl (a line for each message). \
      It ends on SIGTERM.
      """)

  @Option(help: "Where everything lies that it reads and writes.")
  var folder: String
  @Option(help: portHelp)
  var port: UInt16 = 0

  func run() throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let (folder, keyFile) = (folder, "\(folder)/private-key.pem")
    let key = FileManager.default.fileExists(atPath: keyFile) ? try text(of: keyFile) : nil
    let record = try appending(to: "\(folder)/received.jsonl")
    let fake = try listening(on: port, as: folder) { port in
      guard
        let fake = FakeFCM(
          port: port, privateKey: key, fault: { refusal(of: $0, in: folder) },
          note: { record.write($0) })
      else {
        throw ValidationError("port \(port) cannot be used, or private-key.pem is no key")
      }
      try fake.privateKey.write(toFile: keyFile, atomically: true, encoding: .utf8)
      try fake.serviceAccount.write(
        toFile: "\(folder)/service-account.json", atomically: true, encoding: .utf8)
      return (fake, fake.port)
    }
    withExtendedLifetime(fake) { while true { pause() } }
  }

  private func appending(to path: String) throws -> FileHandle {
    if !FileManager.default.fileExists(atPath: path) {
      try Data().write(to: URL(filePath: path))
    }
    guard let file = FileHandle(forUpdatingAtPath: path) else {
      throw ValidationError("\(path) cannot be written")
    }
    try file.seekToEnd()
    return file
  }
}

extension FileHandle {
  /// Adds a line with the message and the status of its answer.
  fileprivate func write(_ received: FakeFCM.Received) {
    let isJSON = (try? JSONSerialization.jsonObject(with: Data(received.message.utf8))) != nil
    let line =
      #"{"status":\#(received.status),"request":\#(isJSON ? received.message : "null")}"# + "\n"
    write(Data(line.utf8))
  }
}

/// The refusal of `token` in the folder's current file.
private func refusal(of token: String, in folder: String) -> FakeFCM.Refusal? {
  // The file is optional.
  for line in ((try? text(of: "\(folder)/faults")) ?? "").split(separator: "\n") {
    let words = line.split(separator: " ").map(String.init)
    guard words.count == 3, let status = Int(words[1]) else {
      return FakeFCM.Refusal(500, "not as the help says: \(line)")
    }
    if words[0] == token || words[0] == "*" { return FakeFCM.Refusal(status, words[2]) }
  }
  return nil
}
