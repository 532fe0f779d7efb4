-- After `begin.lua`: the effect is commands, and one step with its record.
-- ARGV from 6 on: the result; then, for each command, the number of its words and they.
local begun = begin()
if begun[1] ~= 'now' then
  return begun
end
local at, count = 7, 0
while at <= #ARGV do
  local words = tonumber(ARGV[at])
  local answer = redis.pcall(unpack(ARGV, at + 1, at + words))
  if type(answer) == 'table' and answer.err then
    if count == 0 then
      -- Nothing has been written.
      redis.call('HDEL', known, 'effect:' .. name)
    end
    return {'refused', tostring(count), answer.err}
  end
  at = at + 1 + words
  count = count + 1
end
redis.call('HSET', known, 'effect:' .. name, 'D' .. fence .. bearer .. ARGV[6])
return begun
