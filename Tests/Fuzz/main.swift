import Glibc

// switchboard-fuzz [OPTION OF LIBFUZZER|FOLDER|FILE]…: runs libFuzzer on the target that FUZZ_TARGET
// names, which its own child processes inherit. Without FUZZ_TARGET, lists the targets.

guard let name = getenv("FUZZ_TARGET").map({ String(cString: $0) }) else {
  for target in FuzzTarget.all { print(target.name) }
  exit(0)
}
guard let target = FuzzTarget.chosen else {
  print("no target \(name)")
  exit(64)
}
let options = CommandLine.arguments + ["-max_len=\(target.maximumSize)"]
var count = CInt(options.count)
// libFuzzer keeps the texts.
var texts = options.map { strdup($0) } + [nil]
texts.withUnsafeMutableBufferPointer { texts in
  var start = texts.baseAddress!
  atexit { FuzzTarget.reportSlowest() }
  exit(runDriver(&count, &start, FuzzTarget.run))
}

@_silgen_name("LLVMFuzzerRunDriver")
func runDriver(
  _ count: UnsafeMutablePointer<CInt>,
  _ texts: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
  _ run: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt
