#!/usr/bin/env bash
# Starts three servers on this machine that form one gateway, each with a NATS server inside. Ctrl-C ends them.
#   test/cluster.sh STET [POSTGRES-URL]      FOR=10s ends them by itself
set -euo pipefail
stet=$1 store=${2:-}
dir=$(mktemp -d)
pids=()
end() {
  trap - EXIT INT TERM
  if [ ${#pids[@]} -gt 0 ]; then
    kill "${pids[@]}" 2>/dev/null || true
    wait "${pids[@]}" 2>/dev/null || true
  fi
  rm -rf "$dir"
}
trap end EXIT INT TERM

(umask 077 && head -c 24 /dev/urandom | od -An -tx1 | tr -d ' \n' >"$dir/secret")
for n in 1 2 3; do
  peers=()
  for m in 1 2 3; do
    [ "$m" = "$n" ] || peers+=("127.0.0.1:622$m")
  done
  XDG_STATE_HOME="$dir/$n" "$stet" serve --no-workspace --listen "127.0.0.1:414$n" ${FOR:+--for "$FOR"} ${store:+--store "$store"} \
    --bus embed --bus-listen "127.0.0.1:622$n" --bus-secret "$dir/secret" --peers "$(IFS=,; echo "${peers[*]}")" 2> >(sed -u "s/^/$n  /" >&2) &
  pids+=($!)
done

token() { XDG_STATE_HOME="$dir/$1" "$stet" token create "$2" --scope "$2" --workspace demo 2>/dev/null; }
host=$(token 2 host)
agent=$(token 1 agent)
for n in 1 2 3; do
  for _ in $(seq 600); do
    curl -fs -o /dev/null "http://127.0.0.1:414$n/readyz" && continue 2
    kill -0 "${pids[n - 1]}" 2>/dev/null || exit 1
    sleep 0.1
  done
  echo "server $n is not ready after a minute" >&2
  exit 1
done
kept="Each server has a record and a trail of its own; a PostgreSQL URL as STORE makes them one."
[ -z "$store" ] || kept="All that is recorded is in one database."
cat <<EOF

The three servers are one gateway. A workspace, at the second one:
  STET_TOKEN=$host $stet host --workspace demo --root . http://127.0.0.1:4142
An agent, at the first one, over MCP:
  http://127.0.0.1:4141/mcp/demo with the header Authorization: Bearer $agent
A person decides on any of the pages above. $kept
EOF
wait "${pids[@]}"
