import Support
import Synchronization
import Testing

@testable import API
@testable import Store

/// Places of requests that wait for the companion.
@Suite struct WaitingPlacesTests {
  private static let workers = [Job.Kind.Worker.banks, .pushTests, .others]

  @Test(arguments: workers)
  func oneOwnerHasTwoPlacesOfAKind(worker: Job.Kind.Worker) {
    let places = WaitingPlaces()
    #expect((1...4).map { _ in places.take(worker, for: "a") } == [true, true, false, false])
    #expect(places.take(worker, for: "b"))
    places.leave(worker, of: "a")
    #expect((1...2).map { _ in places.take(worker, for: "a") } == [true, false])
  }

  @Test func eachKindHasItsOwnPlaces() {
    let places = WaitingPlaces()
    for worker in Self.workers {
      let count = WaitingPlaces.count(of: worker)
      #expect((1...20).filter { places.take(worker, for: "\($0)") }.count == count)
    }
    for worker in Self.workers {
      for number in 1...20 { places.leave(worker, of: "\(number)") }
      #expect(places.take(worker, for: "21"))
    }
  }

  @Test func twoKindsTogetherLeavePlacesOfTheResponder() {
    let counts = Self.workers.map(WaitingPlaces.count).sorted()
    #expect(counts[1] + counts[2] < 16)
  }

  /// Requests of `next` that are sent while an earlier one waits, until one may not wait.
  ///
  /// - Returns: the number of requests that waited.
  private func waiting(
    _ site: TestApplication, _ next: @escaping @Sendable (Int, Application) -> Answer?
  ) -> Int {
    let count = Mutex(0)
    let waiting = Mutex<Application?>(nil)
    let application = site.sibling(
      beginWaiting: {
        let number = count.withLock { count in
          count += 1
          return count
        }
        // The place is taken: another request comes meanwhile. Its answer does not matter, only whether it waits.
        _ = waiting.withLock { $0 }.flatMap { next(number, $0) }
        return false
      })
    waiting.withLock { $0 = application }
    #expect(next(0, application)?.status == 503)
    waiting.withLock { $0 = nil }
    return count.withLock { $0 }
  }

  @Test func aThirdPushTestOfAnAccountDoesNotWait() throws {
    try withAnn { site, ann, _ in
      site.register("a", of: ann)
      #expect(
        waiting(site) { _, application in site.push("test", "{}", by: ann, to: application) } == 2)
      #expect(site.count("jobs") == 0)
    }
  }

  @Test func aThirdCheckOfAUserDoesNotWait() throws {
    try withApplication { site throws in
      let phones = [try site.phone(of: 7), try site.phone(of: 8)]
      let ofOne = waiting(site) { _, application in application.check(phones[0]) }
      #expect(ofOne == 2)
      let ofTwo = waiting(site) { number, application in
        application.check(phones[number < 2 ? 0 : 1])
      }
      #expect(ofTwo == 4)
    }
  }
}

extension Application {
  fileprivate func check(_ phone: TurnsPhone) -> Answer {
    send("GET", "/check/\(phone.user)", fields: [(name: "X-API-Key", value: phone.key)])
  }
}
