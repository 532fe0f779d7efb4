-- The rule of `Kept::begin` in `rule.rs`, for Redis.
-- KEYS[1] what is known of the event. ARGV: fence (20 digits), bearer (16), name, on doubt (leave, again, denied), seconds to live.
-- A bearer: 12 digits of its lease, 4 of the call.
-- A record: 'B' or 'U' (begun; an earlier run of it may have happened) or 'D' (done), fence, bearer, result.
local known, fence, bearer, name, doubt, live = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local function begin()
  local seen = redis.call('HGET', known, 'fence')
  if seen and seen > fence then
    return {'stale', seen}
  end
  local answer, state = {'now'}, 'B'
  local record = redis.call('HGET', known, 'effect:' .. name)
  if record then
    local was, by, of = string.sub(record, 1, 1), string.sub(record, 2, 21), string.sub(record, 22, 37)
    if was == 'D' then
      answer = {'done', string.sub(record, 38)}
    elseif by == fence and string.sub(of, 1, 12) ~= string.sub(bearer, 1, 12) then
      answer = {'running'}
    elseif doubt == 'leave' then
      answer = {'doubt', by, was}
    elseif doubt == 'again' then
      state = 'U'
    end
  end
  redis.call('HSET', known, 'fence', fence)
  if answer[1] == 'now' then
    redis.call('HSET', known, 'effect:' .. name, state .. fence .. bearer)
  end
  if live == '0' then
    redis.call('PERSIST', known)
  else
    redis.call('EXPIRE', known, live)
  end
  return answer
end
