-- wrk's script: wrk … -s drive.lua URL -- METHOD CALLERS [BODY]
-- CALLERS is a file with a line for each caller: access token, X-Username, push token; BODY may hold PUSH_TOKEN.
-- Each of two threads walks through callers of its own, over and over; a summary is printed as one line of JSON.

local threads = {}

function setup(thread)
  thread:set("number", #threads)
  table.insert(threads, thread)
end

function init(args)
  local method, path, body = args[1], args[2], args[3]
  local head = method .. " " .. wrk.path .. " HTTP/1.1\r\nHost: " .. wrk.host .. "\r\nContent-Type: application/json\r\n"
  local is_push = wrk.path:find("/api/push/", 1, true) == 1
  local line_number = 0
  requests, position = {}, 0
  for line in io.lines(path) do
    if line_number % 2 == number then
      local token, name, push_token = line:match("(%S+) (%S+) (%S+)")
      local content = body and body:gsub("PUSH_TOKEN", push_token)
      local fields = "Authorization: Bearer " .. token .. "\r\n"
      if is_push then fields = fields .. "X-Username: " .. name .. "\r\nOrigin: http://localhost\r\n" end
      if content then fields = fields .. "Content-Length: " .. #content .. "\r\n" end
      table.insert(requests, head .. fields .. "\r\n" .. (content or ""))
    end
    line_number = line_number + 1
  end
end

function request()
  position = position % #requests + 1
  return requests[position]
end

function done(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format(
    '{"requests":%d,"microseconds":%d,"p50":%d,"p99":%d,"refused":%d,"broken":%d}\n', summary.requests,
    summary.duration, latency:percentile(50), latency:percentile(99), errors.status,
    errors.connect + errors.read + errors.write + errors.timeout))
end
