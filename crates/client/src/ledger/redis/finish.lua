-- The rule of `Kept::finish` in `rule.rs`, for Redis.
-- KEYS[1] what is known of the event. ARGV: fence (20 digits), bearer (16), name, result, seconds to live.
local known, fence, bearer, name, result, live = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local seen = redis.call('HGET', known, 'fence')
if seen and seen > fence then
  return {'stale', seen}
end
redis.call('HSET', known, 'fence', fence)
if live == '0' then
  redis.call('PERSIST', known)
else
  redis.call('EXPIRE', known, live)
end
local record = redis.call('HGET', known, 'effect:' .. name)
if record then
  local was, by, of = string.sub(record, 1, 1), string.sub(record, 2, 21), string.sub(record, 22, 37)
  local is_own = by == fence and string.sub(of, 1, 12) == string.sub(bearer, 1, 12)
  local is_older = was ~= 'D' and by < fence
  if not (is_own or is_older) then
    return {'taken'}
  end
end
redis.call('HSET', known, 'effect:' .. name, 'D' .. fence .. bearer .. result)
return {'recorded'}
