-- Takes what is pending: what the last process of our name left (OWN), or what is due and what is idle.
-- Answers {cursor, ms until the next is due or -1, taken, deleted, dead, not buried, 1 where more may be there}.
local stream, due, released, dead = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local group, me, waiting, what = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local limit, lease, most, cursor = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]), ARGV[8]
local WINDOW, ROUNDS = 200, 20
local held = {}
for at = 9, #ARGV do held[ARGV[at]] = true end
local taken, deleted, buried, unburied = {}, {}, {}, {}
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

local function forget(id)
  redis.call('ZREM', due, id)
  redis.call('HDEL', released, id)
end

local function take(row)
  local id, owner, count = row[1], row[2], row[4]
  local entry = redis.call('XRANGE', stream, id, id)[1]
  if not entry then
    redis.call('XACK', stream, group, id)
    forget(id)
    deleted[#deleted + 1] = id
    return
  end
  local given_back = tonumber(redis.call('HGET', released, id) or 0)
  if most > 0 and count - given_back >= most then
    local of = {
      stream = stream, group = group, id = id, consumer = owner, deliveries = count,
      reason = 'max_deliveries', error = ''
    }
    local written = dead_letter(dead, of, entry[2])
    if type(written) == 'table' and written.err then
      unburied[#unburied + 1] = id
      unburied[#unburied + 1] = written.err
      return
    end
    redis.call('XACK', stream, group, id)
    forget(id)
    buried[#buried + 1] = id
    return
  end
  redis.call('XCLAIM', stream, group, me, 0, id, 'RETRYCOUNT', count + 1, 'JUSTID')
  redis.call('ZREM', due, id)
  taken[#taken + 1] = {id, entry[2], count + 1, given_back}
end

local known = redis.pcall('XPENDING', stream, group)
if known.err then return known end
local is_full = 0
if what ~= 'OWN' then
  -- What is not there any more costs a step, and no slot. What is in work here was given back by a word whose answer
  -- is still waited for.
  local behind = 0
  for _ = 1, limit + 1000 do
    local id = redis.call('ZRANGEBYSCORE', due, '-inf', now, 'LIMIT', behind, 1)[1]
    if not id then break end
    if #taken >= limit then
      is_full = 1
      break
    end
    if held[id] then
      behind = behind + 1
    else
      local row = redis.call('XPENDING', stream, group, id, id, 1)[1]
      if row and row[2] == waiting then take(row) end
      redis.call('ZREM', due, id)
    end
  end
end
if what ~= 'DUE' then
  for round = 1, ROUNDS do
    local rows
    if what == 'OWN' then
      rows = redis.call('XPENDING', stream, group, cursor, '+', WINDOW, me)
    else
      rows = redis.call('XPENDING', stream, group, cursor, '+', WINDOW)
    end
    local is_last = #rows < WINDOW
    for _, row in ipairs(rows) do
      if #taken >= limit then
        is_last, is_full = false, 1
        break
      end
      cursor = '(' .. row[1]
      if not held[row[1]] then
        if what == 'OWN' then
          take(row)
        elseif row[3] >= lease and (row[2] ~= waiting or not redis.call('ZSCORE', due, row[1])) then
          take(row)
        end
      end
    end
    if is_last then
      cursor = '-'
      break
    end
    if is_full == 1 then break end
    if round == ROUNDS then is_full = 1 end
  end
end
local next_due = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')[2]
next_due = next_due and math.max(0, tonumber(next_due) - now) or -1
return {cursor, next_due, taken, deleted, buried, unburied, is_full}
