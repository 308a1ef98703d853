-- wrk's script: wrk … -s drive.lua URL -- METHOD TOKENS [BODY]
-- Each of two threads walks through tokens of its own, over and over; a summary is printed as one line of JSON.

local threads = {}

function setup(thread)
  thread:set("number", #threads)
  table.insert(threads, thread)
end

function init(args)
  local method, path, body = args[1], args[2], args[3]
  local all = {}
  for token in io.lines(path) do table.insert(all, token) end
  tokens, position = {}, 0
  for index = number + 1, #all, 2 do table.insert(tokens, all[index]) end
  head = method .. " " .. wrk.path .. " HTTP/1.1\r\nHost: " .. wrk.host
    .. "\r\nContent-Type: application/json\r\nAuthorization: Bearer "
  tail = body and "\r\nContent-Length: " .. #body .. "\r\n\r\n" .. body or "\r\n\r\n"
end

function request()
  position = position % #tokens + 1
  return head .. tokens[position] .. tail
end

function done(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format(
    '{"requests":%d,"microseconds":%d,"p50":%d,"p99":%d,"refused":%d,"broken":%d}\n', summary.requests,
    summary.duration, latency:percentile(50), latency:percentile(99), errors.status,
    errors.connect + errors.read + errors.write + errors.timeout))
end
