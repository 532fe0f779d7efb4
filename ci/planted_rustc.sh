#!/usr/bin/env bash
# The compiler of this workspace's own packages where bugs are built in: see ci/planted.sh.
exec "$@" --cfg planted
