/// The scripts of a page for notifications, like those in the manual, with two differences: the
/// page makes its keys and decrypts the messages itself. A browser does both in
/// `pushManager.subscribe`, which needs the push service of the browser's maker.
enum WebPushPage {
  /// Shows the content of a message, with the keys that the page has put into the cache.
  static let worker = #"""
    const bytes = text =>
      Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), c => c.charCodeAt(0))
    const utf8 = text => [...new TextEncoder().encode(text)]
    const curve = {name: 'ECDH', namedCurve: 'P-256'}

    async function derive(material, salt, info, size) {
      const key = await crypto.subtle.importKey('raw', material, 'HKDF', false, ['deriveBits'])
      return crypto.subtle.deriveBits(
        {name: 'HKDF', hash: 'SHA-256', salt, info: Uint8Array.from(info)}, key, 8 * size)
    }

    async function decrypt(body) {
      const keys = await (await caches.match('/keys')).json()
      const salt = body.slice(0, 16), sender = body.slice(21, 21 + body[20])
      const own = await crypto.subtle.importKey('jwk', keys.jwk, curve, false, ['deriveBits'])
      const other = await crypto.subtle.importKey('raw', sender, curve, false, [])
      const shared = await crypto.subtle.deriveBits({name: 'ECDH', public: other}, own, 256)
      const material = await derive(shared, bytes(keys.auth),
        [...utf8('WebPush: info\0'), ...bytes(keys.p256dh), ...sender], 32)
      const key = await derive(material, salt, utf8('Content-Encoding: aes128gcm\0'), 16)
      const iv = await derive(material, salt, utf8('Content-Encoding: nonce\0'), 12)
      const cipher = await crypto.subtle.importKey('raw', key, 'AES-GCM', false, ['decrypt'])
      const record = new Uint8Array(await crypto.subtle.decrypt(
        {name: 'AES-GCM', iv}, cipher, body.slice(21 + body[20])))
      return new TextDecoder().decode(record.slice(0, record.lastIndexOf(2)))
    }

    self.addEventListener('push', event => event.waitUntil((async () => {
      const {aps} = JSON.parse(await decrypt(bytes(event.data.text())))
      await self.registration.showNotification(aps.alert.title, {body: aps.alert.body})
    })()))
    """#

  /// Registers the worker, makes keys, and subscribes at the site `SITE`.
  static func subscribe(at site: String, endpoint: String, token: String, username: String)
    -> String
  {
    #"""
    (async () => {
      const text = buffer => btoa(String.fromCharCode(...new Uint8Array(buffer)))
        .replace(/\+/g, '-').replace(/\//g, '_').replace(/=/g, '')
      await navigator.serviceWorker.register('/worker.js')
      await navigator.serviceWorker.ready
      const pair = await crypto.subtle.generateKey(
        {name: 'ECDH', namedCurve: 'P-256'}, true, ['deriveBits'])
      const keys = {
        p256dh: text(await crypto.subtle.exportKey('raw', pair.publicKey)),
        auth: text(crypto.getRandomValues(new Uint8Array(16))),
      }
      const jwk = await crypto.subtle.exportKey('jwk', pair.privateKey)
      await (await caches.open('keys')).put('/keys', new Response(JSON.stringify({...keys, jwk})))
      const {publicKey} = await (await fetch('\#(site)/api/push/vapid-key')).json()
      const answer = await fetch('\#(site)/api/push/subscribe', {
        method: 'POST',
        headers: {
          'Content-Type': 'application/json', 'Authorization': 'Bearer \#(token)',
          'X-Username': '\#(username)',
        },
        body: JSON.stringify({endpoint: '\#(endpoint)', expirationTime: null, keys}),
      })
      return `${publicKey} ${answer.status} ${await answer.text()}`
    })()
    """#
  }

  /// Waits for the browser's notification and returns its title and text.
  static let shown = #"""
    (async () => {
      const registration = await navigator.serviceWorker.ready
      for (let tries = 0; tries < 400; tries++) {
        const [one] = await registration.getNotifications()
        if (one) return `${one.title}\n${one.body}`
        await new Promise(done => setTimeout(done, 50))
      }
      return 'nothing'
    })()
    """#
}
