import Base
import MariaDB
import Support
import Synchronization

@testable import Store

/// The events of an object's histories, other than cut connections.
struct HistoryCondition: Sendable {
  let count: Int
  var change: SQLChange?
  /// Whether the database server is killed in each history.
  var kills = false
}

/// The rules of an object in the database that several clients use.
struct SharedObject<
  State: Hashable & Sendable, Operation: Sendable, Answer: Equatable & Sendable
> {
  typealias Call = (Operation, (Records) throws -> Answer) -> Void

  private let initial: State
  private let apply: @Sendable (inout State, Operation) -> Answer

  init(from initial: State, _ apply: @escaping @Sendable (inout State, Operation) -> Answer) {
    self.initial = initial
    self.apply = apply
  }

  /// Lets eight clients call at once, each through connections of its own that are cut once.
  ///
  /// - Parameters:
  ///   - condition: what else happens.
  ///   - prepare: makes the object of a seed.
  ///   - client: makes the calls of one client.
  /// - Returns: the histories that no order of their calls explains.
  func play(
    in store: TestStore, as program: String, under condition: HistoryCondition,
    prepare: (UInt64) -> Void,
    client: @escaping @Sendable (UInt64, inout SeededGenerator, Call) -> Void
  ) throws -> [String] {
    let kill = condition.kills ? ServerKill(of: store.server) : nil
    let clients = (0..<8).map { number in
      CutClient(number, in: store, as: program, changing: condition.change, kill)
    }
    var isChangeFound = false
    return simulate(condition.count) { seed in
      if isChangeFound { return nil }
      prepare(seed)
      var chance = SeededGenerator(state: seed)
      let recorder = CallRecorder<Operation, Answer>()
      kill?.begin(after: .random(in: 1...60, using: &chance)) { recorder.note() }
      inParallel(clients.count) { number in
        var chance = SeededGenerator(state: seed &* 1000 &+ UInt64(number))
        let records = clients[number].begin(&chance)
        client(seed, &chance) { operation, body in
          kill?.waitForServer()
          recorder.call(operation) { try body(records) }
        }
      }
      let calls = recorder.calls.sorted { $0.began < $1.began }
      let isPossible =
        calls.contains { $0.answer != nil }
        && isLinearizable(calls, from: initial, killed: kill?.span, apply)
      isChangeFound = !isPossible && condition.change != nil
      return isPossible ? nil : "\(calls)"
    }
  }
}

/// A client with a database of its own, whose connection is cut at one command of a history.
private final class CutClient: Sendable {
  private struct Cut {
    var commandsLeft = 0
    var action = MariaDBProxy.Action.pass
  }

  private let proxy: MariaDBProxy
  private let database: Database
  private let number: Int
  private let cut: SharedCut

  private final class SharedCut: Sendable {
    let value = Mutex(Cut())
  }

  init(
    _ number: Int, in store: TestStore, as program: String, changing change: SQLChange?,
    _ kill: ServerKill?
  ) {
    self.number = number
    let cut = SharedCut()
    self.cut = cut
    let settings = accountSettings(of: program, in: store.root, on: store.server)
    proxy = MariaDBProxy(settings) { command in
      kill?.noteCommand()
      let action = cut.value.withLock { cut -> MariaDBProxy.Action? in
        cut.commandsLeft -= 1
        return cut.commandsLeft == 0 ? cut.action : nil
      }
      if let action { return action }
      guard case .prepare(let sql) = command, let changed = change?.apply(to: sql) else {
        return .pass
      }
      return .rewrite(changed)
    }
    database = Database(proxy.settings, mailKeys: TestStore.mailKeys)
  }

  /// Chooses the next cut.
  func begin(_ chance: inout SeededGenerator) -> Records {
    let action = Bool.random(using: &chance) ? MariaDBProxy.Action.cutBefore : .cutAfter
    let commands = Int.random(in: 1...30, using: &chance)
    cut.value.withLock { $0 = Cut(commandsLeft: commands, action: action) }
    return database.records(
      at: Timestamp(seconds: 1_800_000_000),
      from: Origin(requestID: "request", address: "192.0.2.\(number)"))
  }
}

/// Kills a database server at one command of a history, and starts it again.
private final class ServerKill: Sendable {
  private let server: MariaDBServer
  private let plan = Mutex(Plan())
  /// Locked while the server is down.
  private let isUp = Mutex(())

  private struct Plan {
    var commandsLeft = 0
    var note: @Sendable () -> Int = { 0 }
    var span: (Int, Int)?
  }

  init(of server: MariaDBServer) { self.server = server }

  /// - Parameter note: gives the place of an event that happens now.
  func begin(after commands: Int, note: @escaping @Sendable () -> Int) {
    plan.withLock { $0 = Plan(commandsLeft: commands, note: note) }
  }

  /// The places of the kill and of the next start; nil if the history was shorter.
  var span: (Int, Int)? { plan.withLock { $0.span } }

  func noteCommand() {
    let note = plan.withLock { plan in
      plan.commandsLeft -= 1
      return plan.commandsLeft == 0 ? plan.note : nil
    }
    guard let note else { return }
    isUp.withLock { _ in
      let began = note()
      server.kill()
      server.start()
      plan.withLock { $0.span = (began, note()) }
    }
  }

  func waitForServer() { isUp.withLock { _ in } }
}
