-- Writes a dead letter. More fields than a call can have are packed into one.
local function dead_letter(key, of, fields)
  local written = {
    'naven:stream', of.stream, 'naven:group', of.group, 'naven:id', of.id, 'naven:consumer', of.consumer,
    'naven:deliveries', tostring(of.deliveries), 'naven:reason', of.reason, 'naven:error', of.error
  }
  if #fields > 7000 then
    written[#written + 1] = 'naven:packed'
    written[#written + 1] = cmsgpack.pack(fields)
  else
    for at = 1, #fields do written[#written + 1] = fields[at] end
  end
  return redis.pcall('XADD', key, '*', unpack(written))
end
