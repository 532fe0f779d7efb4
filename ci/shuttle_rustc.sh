#!/usr/bin/env bash
# The compiler of this workspace's own packages where orders of threads are tried: see ci/shuttle.sh.
exec "$@" --cfg shuttle
