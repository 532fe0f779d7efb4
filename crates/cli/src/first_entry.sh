# the Redis door: an entry, a consumer group, and a read
export REDISCLI_AUTH=$NAVEN_API_KEY
redis-cli -p 7379 XADD factory:events '*' event order.paid payload '{"order":7}'
redis-cli -p 7379 XGROUP CREATE factory:events worker-mail 0
redis-cli -p 7379 XREADGROUP GROUP worker-mail w1 COUNT 10 BLOCK 5000 STREAMS factory:events '>'
