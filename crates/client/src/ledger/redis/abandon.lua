-- The rule of `Kept::abandon` in `rule.rs`, for Redis.
-- KEYS[1] what is known of the event. ARGV: fence (20 digits), bearer (16), name, seconds to live.
local known, fence, bearer, name, live = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local seen = redis.call('HGET', known, 'fence')
if seen and seen > fence then
  return {'kept'}
end
redis.call('HSET', known, 'fence', fence)
if live == '0' then
  redis.call('PERSIST', known)
else
  redis.call('EXPIRE', known, live)
end
local record = redis.call('HGET', known, 'effect:' .. name)
if not record then
  return {'undone'}
end
if record ~= 'B' .. fence .. bearer then
  return {'kept'}
end
redis.call('HDEL', known, 'effect:' .. name)
return {'undone'}
