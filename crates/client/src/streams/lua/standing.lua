-- Is the entry ours, under the count that it was handed to us with? Begins the scripts that speak of one entry.
local stream, group, me, id = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
local count, waiting = tonumber(ARGV[4]), ARGV[5]
local found = redis.pcall('XPENDING', stream, group, id, id, 1)
if found.err then return found end
local row = found[1]
if not row then return 'GONE' end
if row[4] ~= count then return 'OTHER' end
if row[2] == waiting then return 'WAITING' end
if row[2] ~= me then return 'OTHER' end
