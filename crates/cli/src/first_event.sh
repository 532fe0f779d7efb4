export NAVEN_API_URL=http://127.0.0.1:7480
export NAVEN_API_KEY=$(cat naven-data/dev-key)

# publish
curl -sS -w '\n' "$NAVEN_API_URL/v1/event-queues/demo/events" -H "Authorization: Bearer $NAVEN_API_KEY" \
  --json '{"payload": {"hello": "world"}}'

# claim: the event is yours for 60 seconds
claim=$(curl -sS "$NAVEN_API_URL/v1/event-queues/demo/claim" -H "Authorization: Bearer $NAVEN_API_KEY" \
  --json '{"leaseSeconds": 60}')
echo "$claim"

# ack, with the claim's token
event=$(sed 's/.*"id":"\(evt_[^"]*\)".*/\1/' <<<"$claim")
token=$(sed 's/.*"leaseToken":"\([^"]*\)".*/\1/' <<<"$claim")
curl -sS -w '\n' "$NAVEN_API_URL/v1/events/$event/ack" -H "Authorization: Bearer $NAVEN_API_KEY" \
  --json "{\"leaseToken\": \"$token\"}"
