// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  // One section for each function, so that the linker can order them.
  .unsafeFlags(["-Xfrontend", "-function-sections"], .when(configuration: .release)),
]

/// Less to load and to relocate at the start of a program: no exported symbols, and the few parts of libstdc++ that the Swift
/// runtime needs, by the linker script in `Sources/linking`. lld also drops references of unused parts to newer C libraries, and puts
/// the functions of frequent requests next to each other.
let linking: [LinkerSetting] = [
  .unsafeFlags(
    [
      "-use-ld=lld", "-Xlinker", "--no-export-dynamic",
      "-L\(Context.packageDirectory)/Sources/linking", "-Xlinker",
      "--symbol-ordering-file=\(Context.packageDirectory)/Sources/linking/frequent-functions",
      "-Xlinker", "--no-warn-symbol-ordering",
    ], .when(configuration: .release))
]

let log = Target.Dependency.product(name: "Logging", package: "swift-log")

/// A test target whose sources lie in `Tests/<name>`.
func tests(_ name: String, of targets: [Target.Dependency]) -> Target {
  .testTarget(
    name: name, dependencies: targets + ["Support"], path: "Tests/\(name)", swiftSettings: settings)
}

let package = Package(
  name: "switchboard",
  products: [
    .executable(name: "switchboard-responder", targets: ["switchboard-responder"]),
    .executable(name: "switchboard-relay", targets: ["switchboard-relay"]),
    .executable(name: "switchboard-companion", targets: ["switchboard-companion"]),
    .executable(name: "switchboard-fakes", targets: ["switchboard-fakes"]),
    .executable(name: "switchboard-sender", targets: ["switchboard-sender"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
    .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
  ],
  targets: [
    .systemLibrary(name: "CFastCGI", pkgConfig: "fcgi", providers: [.apt(["libfcgi-dev"])]),
    .systemLibrary(
      name: "CMariaDB", pkgConfig: "libmariadb", providers: [.apt(["libmariadb-dev"])]),
    .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
    .systemLibrary(
      name: "CNGHTTP2", pkgConfig: "libnghttp2", providers: [.apt(["libnghttp2-dev"])]),
    .systemLibrary(
      name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    .systemLibrary(
      name: "CQRCode", providers: [.apt(["libqrencode-dev", "libpng-dev"])]),
    .systemLibrary(name: "CGlibc"),

    .target(name: "Base", swiftSettings: settings),
    .target(name: "HTTP", dependencies: ["Base"], swiftSettings: settings),
    .target(
      name: "FastCGI", dependencies: ["Base", "CFastCGI", "CGlibc", "HTTP", log],
      swiftSettings: settings),
    .target(name: "MariaDB", dependencies: ["Base", "CMariaDB"], swiftSettings: settings),
    .target(
      name: "Cryptography", dependencies: ["Base", "COpenSSL", "CSodium"], swiftSettings: settings),
    .target(name: "QRCode", dependencies: ["CQRCode"], swiftSettings: settings),
    // The part of Store that the relay uses too, without the keys.
    .target(name: "StoreCore", dependencies: ["Base", "MariaDB"], swiftSettings: settings),
    .target(
      name: "Store", dependencies: ["Base", "Cryptography", "MariaDB", "StoreCore"],
      swiftSettings: settings),
    .target(
      name: "API",
      dependencies: ["Base", "Cryptography", "HTTP", "QRCode", "Store", "StoreCore", log],
      swiftSettings: settings),
    .target(
      name: "Delivery",
      dependencies: [
        "Base", "CCurl", "CNGHTTP2", "COpenSSL", "Cryptography", "Store", log,
      ],
      swiftSettings: settings),
    .target(
      name: "Administration",
      dependencies: ["Base", "Cryptography", "Delivery", "QRCode", "Store"],
      swiftSettings: settings),
    // Octets of strangers pass through it, so it links no opener of keys.
    .target(
      name: "AgentRelay", dependencies: ["Base", "CGlibc", "MariaDB", "StoreCore", log],
      swiftSettings: settings),
    .target(
      name: "ProcessSupport", dependencies: ["Base", "CGlibc", "MariaDB", log],
      swiftSettings: settings),
    .target(
      name: "SharedSettings", dependencies: ["Base", "Cryptography", "ProcessSupport", "Store"],
      swiftSettings: settings),

    .executableTarget(
      name: "switchboard-responder",
      dependencies: [
        "API", "Base", "Cryptography", "FastCGI", "HTTP", "MariaDB", "ProcessSupport",
        "SharedSettings", "Store", log,
      ],
      path: "Sources/responder",
      exclude: ["environment-responder"]
        + ["service", "socket"].map { "switchboard-responder.\($0)" },
      swiftSettings: settings, linkerSettings: linking),
    .executableTarget(
      name: "switchboard-relay",
      dependencies: ["AgentRelay", "Base", "MariaDB", "ProcessSupport", "StoreCore", log],
      path: "Sources/relay",
      exclude: ["environment-relay"] + ["service", "socket"].map { "switchboard-relay.\($0)" },
      swiftSettings: settings, linkerSettings: linking),
    .executableTarget(
      name: "switchboard-companion",
      dependencies: [
        "Administration", "Base", "Cryptography", "Delivery", "MariaDB",
        "ProcessSupport", "SharedSettings", "Store", "StoreCore", log,
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      path: "Sources/companion",
      exclude: [
        "backup", "backup.sh", "connections.nft", "environment-companion", "environment.sh",
        "failure-mail", "limit-connections", "monitoring", "restore", "setup", "setup.sh",
        "switchboard", "switchboard-connections-again.service", "switchboard-connections.service",
        "switchboard-failure@.service", "switchboard.sysusers",
      ] + ["service", "socket", "timer"].map { "switchboard-companion.\($0)" },
      swiftSettings: settings, linkerSettings: linking),

    .executableTarget(
      name: "switchboard-fakes",
      dependencies: [
        "Base", "CNGHTTP2", "COpenSSL", "Cryptography", "Store", "Support",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      path: "Tests/Fakes", swiftSettings: settings),
    .executableTarget(
      name: "switchboard-sender", dependencies: ["Base", "Cryptography", "Delivery", "Store"],
      path: "Tests/Benchmarks/sender", swiftSettings: settings),
    .target(
      name: "Support",
      dependencies: ["Base", "CMariaDB", "COpenSSL", "Cryptography", "MariaDB", "Store", log],
      path: "Tests/Support", swiftSettings: settings),
    tests("BaseTests", of: ["Base"]),
    tests("HTTPTests", of: ["Base", "HTTP"]),
    tests("CryptographyTests", of: ["Base", "Cryptography"]),
    tests("MariaDBTests", of: ["MariaDB"]),
    tests("FastCGITests", of: ["FastCGI", "HTTP"]),
    tests("AgentRelayTests", of: ["AgentRelay", "Base", "StoreCore", log]),
    tests(
      "ProgramTests",
      of: ["Base", "Cryptography", "MariaDB", "ProcessSupport", "SharedSettings", "Store", log]),
    tests("StoreTests", of: ["Base", "Cryptography", "MariaDB", "Store"]),
    tests(
      "APITests",
      of: [
        "API", "Administration", "Base", "Cryptography", "Delivery", "HTTP", "MariaDB",
        "ProcessSupport", "SharedSettings", "Store", "StoreCore", "switchboard-responder", log,
      ]),
    tests(
      "DeliveryTests",
      of: [
        "Administration", "Base", "CNGHTTP2", "Cryptography", "Delivery", "MariaDB",
        "ProcessSupport", "SharedSettings", "Store", "switchboard-companion", log,
      ]),
    tests("SiteTests", of: ["Base", "Cryptography", "MariaDB", "Store"]),
  ],
  swiftLanguageModes: [.v6]
)

// Tests/Fuzz/run sets the variable: an ordinary build has no use for the fuzz targets.
if Context.environment["SWITCHBOARD_FUZZING"] != nil {
  package.products.append(.executable(name: "switchboard-fuzz", targets: ["switchboard-fuzz"]))
  package.targets.append(
    .executableTarget(
      name: "switchboard-fuzz",
      dependencies: [
        "API", "AgentRelay", "Base", "Cryptography", "Delivery", "FastCGI", "HTTP", "MariaDB",
        "Store", "StoreCore", log,
      ],
      path: "Tests/Fuzz", exclude: ["corpus", "run", "words"], swiftSettings: settings))
}

// The only test targets to build, because a sanitizer needs a second build of all targets.
if let names = Context.environment["SWITCHBOARD_TESTS"]?.split(separator: " ").map(String.init) {
  package.targets.removeAll { target in target.isTest && !names.contains(target.name) }
}
