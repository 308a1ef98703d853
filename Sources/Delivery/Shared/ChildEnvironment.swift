import Glibc

/// Our environment for a program that we start: without the variables that hold secrets, or say where they are.
func childEnvironment() -> [String] {
  var variables: [String] = []
  var entry = environ
  while let text = entry.pointee {
    let variable = String(cString: text)
    if !isSecret(variable) { variables.append(variable) }
    entry += 1
  }
  return variables
}

/// Whether a program that we start must not see `variable`, `NAME=value`.
func isSecret(_ variable: String) -> Bool {
  let name = variable.prefix { $0 != "=" }
  return ["APNS_PRIVATE_KEY", "CREDENTIALS_DIRECTORY", "MASTER_API_KEY"].contains(name)
    || name.hasSuffix("_FILE") || name.hasSuffix("_PASSWORD")
    || name.hasPrefix("SWITCHBOARD_") && name.contains("KEYS")
}
