-- Lets go of the entry until it is due: it stays pending, under the name of those that wait.
if #redis.call('XRANGE', stream, id, id) == 0 then
  redis.call('XACK', stream, group, id)
  redis.call('HDEL', KEYS[3], id)
  return 'DELETED'
end
local time = redis.call('TIME')
local due = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000) + tonumber(ARGV[6])
redis.call('ZADD', KEYS[2], due, id)
if ARGV[7] == '1' then redis.call('HINCRBY', KEYS[3], id, 1) end
redis.call('XCLAIM', stream, group, waiting, 0, id, 'JUSTID')
return 'TAKEN'
