#!/usr/bin/env bash
# A client from the folder `shared`, ready to be run by the scripts beside this file, which source it. They say what
# `shared` and `target` are.

install_seconds=180

# copy_client NAME: into `folder`, with what it needs. A copy, since `shared` may be read-only and npm writes beside
# the script.
copy_client() {
  local name=$1
  folder=$target/clients/$name
  rm -rf "$folder"
  mkdir -p "$(dirname "$folder")"
  cp -R "$shared/clients/$name" "$folder"
  chmod -R u+w "$folder"
  local npm=(timeout --kill-after=5 "$install_seconds" npm --prefix "$folder")
  if [ -e "$folder/package-lock.json" ]; then
    "${npm[@]}" ci --no-audit --no-fund --loglevel=error
  elif grep -qs '"dependencies"' "$folder/package.json"; then
    "${npm[@]}" install --no-audit --no-fund --loglevel=error
  fi
}
