import Glibc

/// Our environment for a child process, without variables that hold secrets or name their files.
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

/// Whether a child process must not see `variable` (`NAME=value`).
func isSecret(_ variable: String) -> Bool {
  let name = variable.prefix { $0 != "=" }
  return secretVariables.contains(name) || name == "CREDENTIALS_DIRECTORY"
    // A password in the URL of a proxy (curl(1)).
    || name.lowercased().hasSuffix("_proxy") && variable.contains("@")
    || name.hasSuffix("_FILE") || name.hasSuffix("_PASSWORD")
}
