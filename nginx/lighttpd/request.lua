-- Gives each request an id, and sets the part of its target that the log may show. Runs again after an authorizer has let
-- the request pass: then tells the relay which phone was admitted, and removes tokens from the fields.
local r = lighty.r
if r.req_env["ADMITTED_BY"] then
  r.req_header["Authorization"] = nil
  r.req_header["X-Paired-Device"] = nil
  r.req_header["X-Forwarded-For"] = nil   -- lighttpd adds the client's address itself
  r.req_header["X-Admitted-By"] = r.req_env["ADMITTED_BY"]
  r.req_header["X-Request-Id"] = r.req_env["REQUEST_ID"]
  return 0
end
-- The client network for the limit: an IPv4 address, or the /64 of an IPv6 address.
local network = function(address)
  address = address:match("^::ffff:(%d+%.%d+%.%d+%.%d+)$") or address
  if not address:find(":", 1, true) then return address end
  local before, after = address:match("^(.-)::(.*)$")
  local groups = {}
  for group in (before or address):gmatch("%x+") do groups[#groups + 1] = group end
  if before then
    local _, last = after:gsub("%x+", "")
    while #groups + last < 8 do groups[#groups + 1] = "0" end
    for group in after:gmatch("%x+") do groups[#groups + 1] = group end
  end
  return table.concat(groups, ":", 1, 4)
end
-- Addresses without a limit: this machine. Add the address of a proxy, which connects for many networks.
local uncounted = { ["127.0.0.1"] = true, ["::1"] = true }
local isCrowded = function(address)
  if uncounted[address] then return false end
  local own, count = network(address), 0
  for other in lighty.server.irequests() do
    local its = other.req_attr["request.remote-addr"]
    if its and network(its) == own then count = count + 1 end
    if count > 100 then return true end
  end
  return false
end
local part = function() return lighty.c.rand() % 4294967296 end
r.req_env["REQUEST_ID"] = r.req_env["REQUEST_ID"] or string.format("%08x%08x%08x%08x", part(), part(), part(), part())
-- lighttpd uses the last ? as the start of the query, so it would log the text before it, with tokens, as a path.
if (r.req_attr["request.uri"] or ""):find("%?.*%?") then return 400 end
-- The log shows plain segments of at most 26 octets, and no query.
local path, query = (r.req_attr["uri.path-raw"] or ""):match("^([^?]*)(.*)$")
local decoded = r.req_attr["uri.path"] or path
local logged, rest = "", path
while rest ~= "" do
  local segment = rest:match("^/[A-Za-z0-9._-]*")
  local after = segment and rest:sub(#segment + 1, #segment + 1)
  if not segment or #segment > 27 or after ~= "" and after ~= "/" then break end
  logged, rest = logged .. segment, rest:sub(#segment + 1)
end
if decoded:lower():find("users%-by%-token") then
  logged = "/users-by-token/[redacted]"
elseif rest ~= "" then
  logged = logged .. "/[redacted]"
elseif query ~= "" or (r.req_attr["uri.query"] or "") ~= "" then
  logged = logged .. "?[redacted]"
end
r.req_env["LOGGED_URI"] = logged
r.req_env["LOGGED_AGENT"] = (r.req_header["User-Agent"] or "-"):sub(1, 200)
if isCrowded(r.req_attr["request.remote-addr"] or "") then return 429 end
r.req_header["Proxy"] = nil   -- a client cannot set HTTP_PROXY (httpoxy)
for name in pairs(r.req_header) do
  -- lighttpd would take X_Device_Credential or X.Device.Credential for X-Device-Credential.
  if name:find("[^%w-]") then r.req_header[name] = nil end
end
local isAgent = decoded == "/ws" or decoded == "/api/file" or decoded:find("^/api/claude/") or decoded:find("^/api/git/")
local isPush = decoded:find("^/api/push/")
if not isAgent and not isPush and (tonumber(r.req_header["Content-Length"]) or 0) > 65536 then return 413 end
return 0
