import ArgumentParser
import COpenSSL
import COpenSSL.TLS
import Glibc

/// The server's side of TLS. The corresponding C type is `SSL_CTX`.
final class ServerTLS {
  let handle: OpaquePointer

  init(folder: String, offersHTTP2: Bool) throws {
    handle = SSL_CTX_new(TLS_server_method())
    let modes = SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER
    SSL_CTX_ctrl(handle, SSL_CTRL_MODE, Int(modes), nil)
    SSL_CTX_ctrl(handle, SSL_CTRL_SET_READ_AHEAD, 1, nil)
    SSL_CTX_set_default_read_buffer_len(handle, 65_536)
    guard SSL_CTX_use_certificate_chain_file(handle, "\(folder)/certificate.pem") == 1,
      SSL_CTX_use_PrivateKey_file(handle, "\(folder)/key.pem", SSL_FILETYPE_PEM) == 1
    else { throw ValidationError("no certificate and key in \(folder)") }
    if offersHTTP2 {
      SSL_CTX_set_alpn_select_cb(handle, chooseHTTP2, nil)
    } else {
      SSL_CTX_set_alpn_select_cb(handle, { _, _, _, _, _, _ in SSL_TLSEXT_ERR_NOACK }, nil)
    }
  }

  deinit { SSL_CTX_free(handle) }
}

private func chooseHTTP2(
  _ ssl: OpaquePointer?, _ chosen: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
  _ size: UnsafeMutablePointer<UInt8>?, _ offered: UnsafePointer<UInt8>?, _ offeredSize: UInt32,
  _ context: UnsafeMutableRawPointer?
) -> CInt {
  let list = UnsafeBufferPointer(start: offered, count: Int(offeredSize))
  var index = 0
  while index < list.count {
    let length = Int(list[index])
    if list[(index + 1)...].prefix(length).elementsEqual("h2".utf8) {
      chosen?.pointee = offered! + index + 1
      size?.pointee = list[index]
      return SSL_TLSEXT_ERR_OK
    }
    index += length + 1
  }
  return SSL_TLSEXT_ERR_ALERT_FATAL
}
