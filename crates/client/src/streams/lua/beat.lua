-- A claim of what was deleted would take it from the pending list on some servers.
if #redis.call('XRANGE', stream, id, id) == 0 then return 'DELETED' end
redis.call('XCLAIM', stream, group, me, 0, id, 'JUSTID')
return 'TAKEN'
