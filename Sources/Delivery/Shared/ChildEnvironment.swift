import Glibc

/// Our environment without the variables that hold secrets, or say where they are, for programs that we start.
func environmentWithoutSecrets() -> [String] {
  var variables: [String] = []
  var entry = environ
  while let text = entry.pointee {
    let variable = String(cString: text)
    if !isSecret(variable.prefix { $0 != "=" }) { variables.append(variable) }
    entry += 1
  }
  return variables
}

private func isSecret(_ name: Substring) -> Bool {
  ["APNS_PRIVATE_KEY", "CREDENTIALS_DIRECTORY", "MASTER_API_KEY"].contains(name)
    || name.hasSuffix("_FILE") || name.hasSuffix("_PASSWORD")
    || name.hasPrefix("SWITCHBOARD_") && name.contains("KEYS")
}
