-- Gives each request an id, and says what the log may show of its target. It runs again when an authorizer has let the
-- request pass: the relay learns whom it has admitted, and sees no token in a field.
local r = lighty.r
if r.req_env["ADMITTED_BY"] then
  r.req_header["Authorization"] = nil
  r.req_header["X-Paired-Device"] = nil
  r.req_header["X-Forwarded-For"] = nil   -- lighttpd names the client itself
  r.req_header["X-Admitted-By"] = r.req_env["ADMITTED_BY"]
  r.req_header["X-Request-Id"] = r.req_env["REQUEST_ID"]
  return 0
end
local part = function() return lighty.c.rand() % 4294967296 end
r.req_env["REQUEST_ID"] = r.req_env["REQUEST_ID"] or string.format("%08x%08x%08x%08x", part(), part(), part(), part())
-- lighttpd takes the last ? for the beginning of the query. A path with the rest in it would be logged, with tokens.
if (r.req_attr["request.uri"] or ""):find("%?.*%?") then return 400 end
local path, query = (r.req_attr["uri.path-raw"] or ""):match("^([^?]*)(.*)$")
local decoded = r.req_attr["uri.path"] or path
if path:find("users%-by%-token") or decoded:find("users%-by%-token") or path:find("%%") then
  path = "/users-by-token/[redacted]"
elseif query ~= "" or (r.req_attr["uri.query"] or "") ~= "" then
  path = path .. "?[redacted]"
end
r.req_env["LOGGED_URI"] = path
r.req_header["Proxy"] = nil   -- a client cannot set HTTP_PROXY (httpoxy)
for name in pairs(r.req_header) do
  if name:find("_") then r.req_header[name] = nil end   -- X_Device_Credential is not X-Device-Credential
end
local isAgent = decoded == "/ws" or decoded == "/api/file" or decoded:find("^/api/claude/") or decoded:find("^/api/git/")
local isPush = decoded:find("^/api/push/")
if not isAgent and not isPush and (tonumber(r.req_header["Content-Length"]) or 0) > 65536 then return 413 end
return 0
