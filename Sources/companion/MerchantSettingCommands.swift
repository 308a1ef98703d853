import Administration
import ArgumentParser
import Delivery
import ProcessSupport
import SharedSettings
import Store

extension Merchants {
  struct Set: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Changes a merchant's limits, pages and webhooks.",
      discussion: """
        What is not named stays. The first URL for webhooks makes the secret that signs them, and the command prints it, \
        once. Another URL keeps the secret.
        Example: switchboard merchants set 01890a5d-ac96-774b-bcce-b302099a8011 \
        --webhook https://shop.example.com/webhooks --return https://shop.example.com
        """)

    @OptionGroup var merchant: MerchantID
    @Option(help: "URL that is told of the outcomes of payments.")
    var webhook: String?
    @ArgumentParser.Flag(help: "Tell the merchant nothing, and forget the secret.")
    var noWebhook = false
    @Option(
      name: .customLong("return"), parsing: .upToNextOption,
      help: "Origins of the pages that payments may return to. They replace the earlier ones.")
    var returnOrigins: [String] = []
    @ArgumentParser.Flag(help: "Let payments return to no page.")
    var noReturn = false
    @Option(help: "Largest amount of one payment, in any currency.")
    var largest: String?
    @ArgumentParser.Flag(help: "Let payments have any amount.")
    var noLargest = false
    @Option(help: "Limit of the merchant's requests for payments in an hour.")
    var hourly: Int64?
    @OptionGroup var rehearsal: Rehearsal
    @OptionGroup var output: Output

    func validate() throws {
      let choices = [
        (webhook != nil, noWebhook, "webhook"), (!returnOrigins.isEmpty, noReturn, "return"),
        (largest != nil, noLargest, "largest"),
      ]
      for (isSet, isRemoved, name) in choices where isSet && isRemoved {
        throw ValidationError("Give either --\(name) or --no-\(name).")
      }
      guard hourly != nil || choices.contains(where: { $0.0 || $0.1 }) else {
        throw ValidationError("Give at least one setting.")
      }
    }

    func run() throws {
      let (merchants, keys) = try MerchantAdministration.ofCommandWithKeys(rehearsal)
      try output.print(
        merchants.set(wanted, of: merchant.id, sealedFor: keys), orNotFound: MerchantID.notFound)
    }

    private var wanted: WantedMerchantSettings {
      var wanted = WantedMerchantSettings()
      wanted.webhook = noWebhook ? .remove : webhook.map { .set($0) }
      wanted.returnOrigins = returnOrigins.isEmpty && !noReturn ? nil : returnOrigins
      wanted.largestAmount = noLargest ? .remove : largest.map { .set($0) }
      wanted.hourlyRequests = hourly
      return wanted
    }
  }

  struct RotateSecret: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Replaces the secret of a merchant's webhooks, and prints the new one, once.",
      discussion: """
        The old secret signs too, for 24 hours, so that the merchant can change over.
        Example: switchboard merchants rotate-secret 01890a5d-ac96-774b-bcce-b302099a8011
        """)

    @OptionGroup var merchant: MerchantID
    @OptionGroup var rehearsal: Rehearsal
    @OptionGroup var output: Output

    func run() throws {
      let (merchants, keys) = try MerchantAdministration.ofCommandWithKeys(rehearsal)
      try output.print(
        merchants.rotateSecret(of: merchant.id, sealedFor: keys), orNotFound: MerchantID.notFound)
    }
  }

  struct Webhooks: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Lists what merchants were told, the newest first.",
      discussion: """
        States: open (it is sent, or sent again, when it is due), delivered, dead (given up).
        Example: switchboard merchants webhooks 01890a5d-ac96-774b-bcce-b302099a8011 --json
        """)

    @Argument(help: "The id of a merchant. Without it, the webhooks of all merchants are listed.")
    var id: String?
    @OptionGroup var limit: ListLimit
    @OptionGroup var output: Output

    func run() throws {
      let merchants = MerchantAdministration(records: try .ofCommand())
      try output.print(
        merchants.webhooks(of: id, limit: limit.count), orNotFound: MerchantID.notFound)
    }
  }

  struct Resend: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Makes the next pass send a webhook, also one that was delivered or given up.",
      discussion:
        "Example: switchboard merchants resend 01890a5d-ac96-774b-bcce-b302099a8012")

    @Argument(help: "The id of the webhook, as the list shows it.")
    var id: String
    @OptionGroup var rehearsal: Rehearsal
    @OptionGroup var output: Output

    func run() throws {
      let merchants = MerchantAdministration(records: try .ofCommand(isRehearsal: rehearsal.dryRun))
      try output.print(merchants.resend(id), orNotFound: "No webhook has this id.")
    }
  }

  struct MerchantID: ParsableArguments {
    @Argument(help: "The id of the merchant.")
    var id: String

    static let notFound = "No merchant has this id."
  }
}

extension MerchantAdministration {
  /// - Throws: ``ConfigurationError`` that names everything missing or malformed; ``SchemaMismatch``.
  fileprivate static func ofCommandWithKeys(
    _ rehearsal: Rehearsal
  ) throws -> (MerchantAdministration, CompanionKeys) {
    var environment = Environment.ofProcess()
    let keys = environment.companionKeys()
    let records = try environment.openRecords(isRehearsal: rehearsal.dryRun)
    guard let keys else { throw ConfigurationError(environment.complaints) }
    return (MerchantAdministration(records: records), keys)
  }
}
