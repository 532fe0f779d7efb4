local entry = redis.call('XRANGE', stream, id, id)[1]
if entry then
  local of = {
    stream = stream, group = group, id = id, consumer = me, deliveries = count, reason = ARGV[6], error = ARGV[7]
  }
  local written = dead_letter(KEYS[4], of, entry[2])
  if type(written) == 'table' and written.err then return written end
end
redis.call('XACK', stream, group, id)
redis.call('HDEL', KEYS[3], id)
return entry and 'TAKEN' or 'DELETED'
