import Base
import Cryptography
import Delivery
import Glibc
import Store

// switchboard-sender URL CA COUNT CONNECTIONS: sends like the companion, without a database, over at most so many
// connections, and prints the duration (s) and the CPU time (s). The notifications are made before the clock starts and sent
// repeatedly: the companion's notifications come from the database just before the sending, so the
// processor's caches hold them too.

let arguments = CommandLine.arguments
guard arguments.count == 5, let endpoint = APNsEndpoint(url: arguments[1]),
  let count = Int(arguments[3]), let connections = Int(arguments[4])
else { exit(64) }

/// The process's CPU time so far, in seconds.
func processorTime() -> Double {
  var time = timespec()
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
  return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

let payload = Array(
  #"{"aps":{"alert":"It's your turn in: Friendly match","badge":1,"sound":"default"},"web_url":"https://online-go.com/game/79504999","app_url":"ogs://game/79504999","game_id":79504999,"action":"open_game","game_name":"Friendly match"}"#
    .utf8)
let notifications = (0..<2000).map { number in
  APNsNotification(
    id: timeOrderedUUID(milliseconds: Timestamp.now().milliseconds),
    token: PushToken(hexEncoded(sha256("device \(number)")))!, topic: "com.example.switchboard",
    collapseID: String(hexEncoded(sha256("event \(number)")).prefix(32)),
    expiration: Timestamp.now().seconds + 86_400, payload: payload)!
}
var limits = APNsClient.Limits()
limits.connections = connections
let client = APNsClient(
  endpoint: endpoint, trust: try TLSContext(trusting: .file(arguments[2])), limits: limits
) { _ in String(repeating: "t", count: 220) }

let began = ContinuousClock.now
let processorTimeBefore = processorTime()
var taken = 0
let run = client.run(until: began + .seconds(120)) { wanted in
  let begin = taken % notifications.count
  let next = notifications[begin...].prefix(min(wanted, count - taken))
  taken += next.count
  return Array(next)
} report: { _, _ in
}
let seconds = (ContinuousClock.now - began) / .seconds(1)
guard run.accepted == count, run.connections == connections else {
  print("accepted \(run.accepted) on \(run.connections) connections: \(run.end)")
  exit(1)
}
print(#"{"seconds":\#(seconds),"cpu":\#(processorTime() - processorTimeBefore)}"#)
