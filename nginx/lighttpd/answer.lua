-- Sets the fields of each answer. The files of server.errorfile-prefix hold lighttpd's own errors; this sets their type.
local r = lighty.r
local path = r.req_attr["uri.path"] or ""
local h = r.resp_header
if not h["X-Request-Id"] then
  local part = function() return lighty.c.rand() % 4294967296 end
  -- A request that lighttpd cannot parse has no id yet.
  local id = r.req_env["REQUEST_ID"] or string.format("%08x%08x%08x%08x", part(), part(), part(), part())
  r.req_env["REQUEST_ID"] = id
  h["X-Request-Id"] = id
  local status = r.req_item.http_status
  local isAgent = path == "/ws" or path == "/api/file" or path:match("^/api/claude/") or path:match("^/api/git/")
  if status >= 400 and not (isAgent and h["Content-Type"]) then
    local isPage = path == "/account" or path:match("^/account/") or path:match("^/pay/")
      or path:match("^/api/enrollment/callback/")
    h["Content-Type"] = isPage and "text/html; charset=utf-8" or "application/json"
    h["Cache-Control"] = "no-store"
    if status == 429 then h["Retry-After"] = "1" end
    if status == 502 or status == 503 or status == 504 then h["Retry-After"] = "2" end
    if isPage then
      h["Content-Security-Policy"] = "default-src 'none'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
    end
  end
end
if not h["X-Content-Type-Options"] then h["X-Content-Type-Options"] = "nosniff" end
if r.req_attr["uri.scheme"] == "https" then h["Strict-Transport-Security"] = "max-age=31536000" end
return 0
