-- Messages, one POST after the other: each under a key of its own, or under so many keys in turn.
local head = "POST /v1/messages HTTP/1.1\r\nHost: stub\r\nContent-Type: application/json\r\n"
  .. "Authorization: Bearer acme\r\nIdempotency-Key: "
local body = '{"to":"+12025550142","body":"Your code is 471142"}'
local tail = "\r\nContent-Length: " .. #body .. "\r\n\r\n" .. body
local n = 0

function init(args)
  if args[1] == "get" then
    local get = wrk.format("GET")
    request = function() return get end
    return
  end
  local prefix, keys = args[1] .. "-", tonumber(args[2])
  request = function()
    n = n + 1
    return head .. prefix .. (keys > 0 and n % keys or n) .. tail
  end
end

function done(summary, latency)
  local e = summary.errors
  io.write(string.format("RESULT %.0f %d %d %.3f %.3f\n", summary.requests / summary.duration * 1e6,
    summary.requests, e.connect + e.read + e.write + e.status + e.timeout,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000))
end
