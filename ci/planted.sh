#!/usr/bin/env bash
# Builds bugs into the product and sees the tests find them. torture/planted.md lists them, with what finds each.
#
#   ci/planted.sh            six of them, in turn by the number of commits
#   ci/planted.sh N of M     part N of M, from 1 on
#   ci/planted.sh --all
#   ci/planted.sh NAME...
#
# One build holds them all, and NAVEN_PLANTED names the one that is on. What finds a bug has to pass in that same build
# without it and to fail with it; what does not end in time has found nothing. Only our own packages are built for
# this, beside those of ordinary builds: dependencies stay as they are.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
target=${CARGO_TARGET_DIR:-$root/target}
out=$target/planted
table=torture/planted.md

# Longest run of what finds a bug, in seconds: a few, on a machine that does nothing else.
seconds_max=90
smoke="naven smoke"

fail() {
  echo "planted: $*" >&2
  exit 1
}

names() { awk -F'|' '$2 ~ /^ *[0-9]+ *$/ { gsub(/[ `]/, "", $3); print $3 }' "$table"; }

# What finds the bug $1, one a line: `BINARY TEST`, as nextest names both, or `naven smoke`.
finders() {
  awk -F'|' -v name="$1" '
    { bug = $3; gsub(/[ `]/, "", bug) }
    $2 ~ /^ *[0-9]+ *$/ && bug == name {
      count = split($7, parts, "`")
      for (at = 2; at <= count; at += 2) print parts[at]
    }' "$table"
}

# Names of the bugs that the arguments ask for.
chosen() {
  local part parts
  case "${1:-}" in
    --all) [ $# -eq 1 ] && names ;;
    "") parts=5 && part=$(($(git rev-list --count HEAD) % parts + 1)) && chosen "$part" of "$parts" ;;
    [0-9]*)
      [ $# -eq 3 ] && [ "$2" = of ] && [[ $1$3 =~ ^[0-9]+$ ]] && [ "$1" -ge 1 ] && [ "$1" -le "$3" ] || return 1
      names | awk -v part="$1" -v parts="$3" '(NR - 1) % parts == part - 1'
      ;;
    *)
      for part in "$@"; do
        names | grep -x -- "$part" || return 1
      done
      ;;
  esac
}

build() {
  local targets=() binary package
  while read -r binary; do
    case "$binary" in
      # It brings the binary along, with what else is built for tests.
      naven) targets+=(--test smoke) ;;
      *::*) targets+=(--test "${binary#*::}") ;;
      # Once for all packages.
      *) [[ " ${targets[*]} " == *" --lib "* ]] || targets+=(--lib) ;;
    esac
  done < <(cut -d ' ' -f 1 "$out/finders" | sort -u)
  export RUSTC_WORKSPACE_WRAPPER=$root/ci/planted_rustc.sh
  # The whole workspace, so that dependencies keep the features they are built with already. What finds a bug builds
  # longer than it runs, so it is optimised less.
  local lesser=()
  for package in core store torture; do lesser+=(--config "profile.dev.package.naven-$package.opt-level=1"); done
  cargo nextest list --workspace --all-features "${lesser[@]}" "${targets[@]}" \
    --list-type binaries-only --message-format json \
    >"$out/binaries.json"
  # The next ordinary build takes its place.
  if grep -qx "$smoke" "$out/finders"; then cp "$target/debug/naven" "$out/naven"; fi
  unset RUSTC_WORKSPACE_WRAPPER
  cargo metadata --format-version 1 --no-deps >"$out/metadata.json"
}

# tests BUG FILTER: answers as nextest does, 100 where a test has failed.
tests() {
  NAVEN_PLANTED=$1 timeout "$seconds_max" cargo nextest run --cargo-metadata "$out/metadata.json" \
    --binaries-metadata "$out/binaries.json" --no-fail-fast --color never --status-level fail \
    --failure-output immediate -E "$2" </dev/null >"$out/log" 2>&1
}

smoke() { NAVEN_PLANTED=$1 timeout "$seconds_max" "$out/naven" smoke </dev/null >"$out/log" 2>&1; }

filter() { echo "binary_id(=${1%% *}) & test(=${1#* })"; }

# Everything passes while no bug is on.
pass_without() {
  local finder filters=()
  while read -r finder; do
    if [ "$finder" = "$smoke" ]; then continue; fi
    filters+=("($(filter "$finder"))")
  done < <(sort -u "$out/finders")
  if [ ${#filters[@]} -gt 0 ]; then
    local all
    all=$(printf ' | %s' "${filters[@]}")
    seconds_max=$((seconds_max * 5)) tests "" "${all# | }" || { cat "$out/log" && fail "a test fails without any bug, or is not there"; }
    # One that is not there would find nothing, and nobody would see.
    grep -Eq "^ *Summary .* ${#filters[@]} tests? run: ${#filters[@]} passed" "$out/log" ||
      { tail -n 3 "$out/log" && fail "$table names a test that is not there"; }
  fi
  if grep -qx "$smoke" "$out/finders"; then
    smoke "" || { cat "$out/log" && fail "naven smoke fails without any bug"; }
  fi
}

# One line of the last log that says what was broken.
why() {
  { grep -m 1 '^FAILED' "$out/log" || grep -m 1 -A 1 'panicked at' "$out/log" | tail -n 1; } | sed 's/^ *//' | cut -c 1-200 || true
}

# is_found BUG: everything that should find it fails while it is on.
is_found() {
  local finder code count=0
  while read -r finder; do
    count=$((count + 1)) code=0
    if [ "$finder" = "$smoke" ]; then
      smoke "$1" || code=$?
      [ $code = 1 ] || { echo "  naven smoke ended with $code" && return 1; }
    else
      tests "$1" "$(filter "$finder")" || code=$?
      [ $code = 100 ] || { echo "  $finder ended with $code" && return 1; }
    fi
    echo "  $finder: $(why)"
  done < <(finders "$1")
  [ $count -gt 0 ] || { echo "  $table does not say what finds it" && return 1; }
}

mkdir -p "$out"
bugs=$(chosen "$@") || fail "usage is ci/planted.sh [--all | N of M | NAME...], with names of $table"
for bug in $bugs; do finders "$bug"; done >"$out/finders"
build
pass_without
missed=0 total=0 all_began=$SECONDS
for bug in $bugs; do
  began=$SECONDS total=$((total + 1)) verdict=found
  lines=$(is_found "$bug") || { verdict="NOT FOUND" && missed=$((missed + 1)); }
  printf '%s %s in %d s\n%s\n' "$verdict" "$bug" $((SECONDS - began)) "$lines"
done
printf '%d of %d planted bugs found in %d s\n' $((total - missed)) "$total" $((SECONDS - all_began))
[ $missed = 0 ]
