redis.call('XACK', stream, group, id)
if ARGV[6] == '1' then redis.call('HDEL', KEYS[3], id) end
return 'TAKEN'
