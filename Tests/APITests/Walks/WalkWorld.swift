import Base
import Cryptography
import Delivery
import Foundation
import HTTP
import Store
import Support
import Testing

@testable import API

/// The actor's authenticators.
struct ThiefPasskeys {
  /// The authenticator with a passkey of the actor's own account.
  let first = Authenticator()
  var firstHandle: [UInt8] = []
  /// An authenticator without a passkey.
  let new = Authenticator()
}

/// The people and things of each walk: an owner, two other people, a shop, paired phones, players.
struct WalkWorld {
  /// A person's account, and the data that only this person may see.
  struct Person {
    var accountID = ""
    let email: String
    let phone: String
    var phoneName = "Somebody's phone"
    var accessToken = ""
    var refreshToken = ""
    var credential = ""
    /// Texts that no answer to other people contains.
    var marks: [String] = []
  }

  /// The actor.
  var thief = Person(email: "eve@example.net", phone: "phone of eve")
  var owner = Person(
    email: "ann@example.org", phone: "phone of ann", phoneName: "Ann's phone")
  /// A person without passkeys and keys.
  var plainOwner = Person(email: "carl@example.org", phone: "phone of carl")
  var bystander = Person(email: "bob@example.com", phone: "phone of bob")
  /// A person whose phone is registered, and has no account yet.
  var waiting = Person(
    email: "dora@example.org", phone: "phone of dora", phoneName: "Dora's phone",
    marks: [pushTokenText("d"), "dora@example.org"])
  /// A token of the owner's other device, where the owner has just signed in.
  var freshToken = ""
  /// A token of a phone that the owner has revoked.
  var revokedToken = ""
  var revokedCredential = ""
  let ownerPasskey = Authenticator()
  var thiefPasskeys = ThiefPasskeys()
  var ownerIDs: [String] = []
  var merchantKey = ""
  var paired: [Paired] = []
  var ownerAPIKey = ""
  var thiefAPIKey = ""

  static let (ownerAddress, thiefAddress, adminAddress) = (
    "192.0.2.1", "203.0.113.66", "198.51.100.7"
  )
  /// A merchant whose key no actor has, and its payments.
  static let otherMerchant = "01890a5d-ac96-774b-bcce-b302099a8fee"
  static let otherPayments = ["pay_KioskKioskKioskKioskK0", "pay_KioskKioskKioskKioskK1"]
  static let (ownerPlayer, thiefPlayer) = (1_783_478, 42)

  static var settings: API.Settings {
    .ofTests(
      webPush: WebPushSettings(
        publicKey:
          "BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs",
        services: PushServices(more: [])),
      agent: TestApplication.agent,
      pairingAccess: PairingAccess(allowed: [IPNetwork("\(adminAddress)/32")!]),
      attestation: AttestationPolicy(
        mode: .observe, apps: AttestedApps(teamID: ourTeam, environments: [.production])))
  }

  init(_ site: TestApplication) throws {
    site.seeCompanion()
    try addOwner(to: site)
    try addBystander(to: site)
    try addThief(to: site)
    try addOthers(to: site)
    waiting.credential = try site.registerDevice(
      waiting.phone, name: waiting.phoneName, pushToken: pushTokenText("d"),
      address: Self.ownerAddress)
    site.advance(by: .seconds(7200))
    try ageOwner(at: site)
    site.seeCompanion()
    site.sql("DELETE FROM rate_limits; DELETE FROM outbox")
  }

  private mutating func addOwner(to site: TestApplication) throws {
    let (address, name) = (Self.ownerAddress, "Ann the owner")
    let first = try site.signUp(email: owner.email, device: owner.phone, address: address)
    site.sql("UPDATE accounts SET name = '\(name)' WHERE email = '\(owner.email)'")
    owner.accountID = first.accountID
    let old = "old phone of ann"
    revokedCredential = try site.registerDevice(old, name: "Ann's old phone", address: address)
    _ = site.requestCode(owner.email, device: old, name: nil, platform: nil, address: address)
    let oldAnswer = site.verify(
      owner.email, code: try site.mailedCode(), device: old, credential: revokedCredential,
      address: address)
    revokedToken = try #require(oldAnswer.accessToken)
    let phone = try site.signIn(
      owner.email, device: owner.phone, name: owner.phoneName, address: address)
    let ended = site.send(
      "DELETE", "\(AccountPath.devices)/\(old)", token: phone.accessToken, address: address)
    try #require(ended.status == 200, "\(ended.text)")
    owner.accessToken = phone.accessToken
    owner.refreshToken = phone.refreshToken
    let registered = site.send(
      "POST", AccountPath.registerDevice,
      jsonText([
        "deviceId": owner.phone, "deviceName": owner.phoneName, "platform": "ios",
        "pushToken": pushTokenText("a"),
      ]), token: phone.accessToken, address: address)
    owner.credential = try #require(registered.string("deviceCredential"))
    _ = try site.setUp(.one, of: phone)
    let passkey = try site.addPasskey(ownerPasskey, name: "Ann's key ring", of: phone)
    let card = site.addCard(of: phone)
    site.sql(
      "UPDATE banks SET name = 'Bank of all'; UPDATE cards SET last_four = '4071', is_default = TRUE"
    )
    let prefs = site.send(
      "POST", "/api/v1/device-prefs", #"{"push_enabled":true,"preferred_models":["gpt-4o"]}"#,
      token: phone.accessToken, address: address)
    try #require(prefs.status == 200, "\(prefs.text)")
    ownerIDs = [passkey, card, owner.accountID]
    owner.marks = [
      owner.email, name, owner.phone, "Ann's", old, pushTokenText("a"), passkey, card,
      owner.accountID,
      #""lastFour":"4071""#,
      site.sql("SELECT wallet_id FROM accounts WHERE email = '\(owner.email)'"),
    ]
  }

  private mutating func addBystander(to site: TestApplication) throws {
    let bob = try site.signUp(email: bystander.email, device: bystander.phone, address: "192.0.2.9")
    bystander.accountID = bob.accountID
    let card = site.addCard(of: bob)
    bystander.marks = [bystander.email, bystander.phone, bob.accountID, card]
    let carl = try site.signUp(
      email: plainOwner.email, device: plainOwner.phone, address: Self.ownerAddress)
    plainOwner.accountID = carl.accountID
    plainOwner.accessToken = carl.accessToken
    plainOwner.refreshToken = carl.refreshToken
    plainOwner.marks = [plainOwner.email, plainOwner.phone, carl.accountID, site.addCard(of: carl)]
  }

  private mutating func addThief(to site: TestApplication) throws {
    let address = Self.thiefAddress
    let eve = try site.signUp(email: thief.email, device: thief.phone, address: address)
    thief.accountID = eve.accountID
    _ = site.addCard(of: eve)
    _ = try site.setUp(.two, of: eve)
    try site.addPasskey(thiefPasskeys.first, name: "Eve's key ring", of: eve)
    thiefPasskeys.firstHandle = userHandle(ofAccount: eve.accountID)
    let registered = site.send(
      "POST", AccountPath.registerDevice,
      jsonText(["deviceId": thief.phone, "deviceName": "Eve's phone", "platform": "ios"]),
      token: eve.accessToken, address: address)
    thief.credential = try #require(registered.string("deviceCredential"))
    thief.accessToken = eve.accessToken
    thief.refreshToken = eve.refreshToken
  }

  private mutating func addOthers(to site: TestApplication) throws {
    merchantKey = try site.merchants.add("Shop").key
    _ = try site.merchants.add("Kiosk")
    let now = databaseText(site.now)
    site.sql(
      """
      UPDATE merchants SET return_origins = 'https://shop.example',
        webhook_url = 'https://shop.example/hook', webhook_secret = 'sealed' WHERE name = 'Shop';
      UPDATE merchants SET id = '\(Self.otherMerchant)' WHERE name = 'Kiosk';
      INSERT INTO payments (id, merchant_id, amount, currency, order_id, is_request, created_at, expires_at,
        account_id, challenge_hash, approved_at, confirmed_at, confirmed_by)
      VALUES ('\(Self.otherPayments[0])', '\(Self.otherMerchant)', 1, 'CAD', 'order of kiosk', TRUE, '\(now)',
        '\(now)' + INTERVAL 1 DAY, NULL, NULL, NULL, NULL, NULL),
      ('\(Self.otherPayments[1])', '\(Self.otherMerchant)', 1, 'CAD', 'paid at kiosk', TRUE, '\(now)',
        '\(now)' + INTERVAL 1 DAY, '\(bystander.accountID)', REPEAT('c', 32), '\(now)', '\(now)', 'passkey');
      """)
    bystander.marks += Self.otherPayments + ["order of kiosk", "paid at kiosk", Self.otherMerchant]
    let paired = try (1...2).map { _ in
      let info = site.send("GET", "/api/pair/info", address: Self.adminAddress)
      return try Paired(site.exchange(try #require(info.string("token")), address: "192.0.2.8"))
    }
    self.paired = paired
    ownerAPIKey = try site.phone(of: Self.ownerPlayer).key
    thiefAPIKey = try site.phone(of: Self.thiefPlayer).key
    site.sql(
      """
      UPDATE banks SET authorization_url = 'https://bank.example/authorize', token_url = 'https://bank.example/token',
        cards_url = 'https://bank.example/cards', client_id = 'us', client_secret = 'sealed', scope = 'cards'
      """)
  }

  /// Advances the clock by two hours: the phone's session is refreshed, and a tablet's session is
  /// two minutes old.
  private mutating func ageOwner(at site: TestApplication) throws {
    let address = Self.ownerAddress
    let refreshed = site.refresh(owner.refreshToken, address: address)
    owner.accessToken = try #require(refreshed.accessToken)
    owner.refreshToken = try #require(refreshed.refreshToken)
    let carl = site.refresh(plainOwner.refreshToken, address: address)
    plainOwner.accessToken = try #require(carl.accessToken)
    let eve = site.refresh(thief.refreshToken, address: Self.thiefAddress)
    thief.accessToken = try #require(eve.accessToken)
    thief.refreshToken = try #require(eve.refreshToken)
    let phones = try paired.map { try Paired(site.refreshPairing($0.refresh)) }
    paired = phones
    let tablet = "tablet of ann"
    let passed = site.send(
      "POST", AccountPath.login,
      jsonText([
        "email": owner.email, "deviceId": tablet, "deviceName": "Ann's tablet", "platform": "ios",
        "method": "email",
      ]), address: address)
    try #require(passed.status == 200, "\(passed.text)")
    freshToken = try #require(
      site.verify(owner.email, code: try site.mailedCode(), device: tablet, address: address)
        .accessToken)
    let key = site.send(
      "POST", AccountPath.setup,
      jsonText(["deviceId": tablet, "publicKey": PhoneKey.one.publicKey, "biometricType": "face"]),
      token: freshToken, address: address)
    try #require(key.status == 200, "\(key.text)")
    owner.marks.append(tablet)
  }
}
