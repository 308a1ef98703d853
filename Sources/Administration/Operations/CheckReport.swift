import Base
package import Delivery

/// All results of the check.
package struct CheckReport: CommandAnswer {
  let all: [CheckLine]

  package var isFine: Bool { !all.contains(where: \.isProblem) }

  package init(_ all: [CheckLine]) { self.all = all }

  package var text: String { all.map(\.description).joined(separator: "\n") }

  package var json: [UInt8] {
    JSONWriter.object { json in
      json.member(
        "checks",
        array: { array in
          for line in all {
            array.object { json in
              json.member("result", line.result)
              json.member("text", line.text)
            }
          }
        })
    }
  }
}
