-- One POST after the other, each under a key of its own.
local thread = 0
function setup(t)
  t:set("id", thread)
  thread = thread + 1
end

local n = 0
function request()
  n = n + 1
  local body = '{"to":"+12025550142","body":"Your code is 471142"}'
  return "POST /v1/messages HTTP/1.1\r\nHost: stub\r\nContent-Type: application/json\r\n"
    .. "Authorization: Bearer acme\r\nIdempotency-Key: key-" .. run .. "-" .. id .. "-" .. n
    .. "\r\nContent-Length: " .. #body .. "\r\n\r\n" .. body
end

function init(args)
  run = args[1] or "0"
end

function done(summary)
  local e = summary.errors
  io.write(string.format("RESULT %.0f %d %d\n", summary.requests / summary.duration * 1e6,
    summary.requests, e.connect + e.read + e.write + e.status + e.timeout))
end
