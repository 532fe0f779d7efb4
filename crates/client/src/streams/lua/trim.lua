-- Drops entries that every group has acked: older than the least of what each has pending, or had last.
local groups = redis.pcall('XINFO', 'GROUPS', KEYS[1])
if groups.err then return groups end
local function parts(id)
  return string.match(id, '^(%d+)-(%d+)$')
end
-- Numbers of up to 20 digits, which Lua's own do not hold.
local function is_less(a, b)
  if #a ~= #b then return #a < #b end
  return a < b
end
local function is_before(a, b)
  local a_ms, a_seq = parts(a)
  local b_ms, b_seq = parts(b)
  if a_ms ~= b_ms then return is_less(a_ms, b_ms) end
  return is_less(a_seq, b_seq)
end
local least
for _, group in ipairs(groups) do
  local of = {}
  for at = 1, #group, 2 do of[group[at]] = group[at + 1] end
  local first = of['last-delivered-id']
  if of['pending'] > 0 then first = redis.call('XPENDING', KEYS[1], of['name'])[2] end
  if not least or is_before(first, least) then least = first end
end
if not least then return 0 end
return redis.call('XTRIM', KEYS[1], 'MINID', '=', least)
