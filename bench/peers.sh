#!/usr/bin/env bash
# Installs the programs that stet is compared with into a directory: bench/peers.sh DIR. If one cannot be
# installed, the script says so, and the tables leave it out.
set -uo pipefail
dir=${1:?usage: bench/peers.sh DIR}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
failed=()

if ! command -v rg >/dev/null || ! command -v fdfind >/dev/null; then
  apt-get install -y --no-install-recommends ripgrep fd-find || failed+=(ripgrep fd)
fi
[ -x "$dir/venv/bin/pip" ] || python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet 'headroom-ai[proxy]' || failed+=(headroom)
"$dir/venv/bin/pip" install --quiet 'litellm[proxy]' || failed+=(litellm)
"$dir/venv/bin/pip" install --quiet tiktoken || failed+=(tiktoken)
"$dir/venv/bin/pip" install --quiet bpe-openai || failed+=(bpe-openai)
npm install --silent --no-audit --no-fund --prefix "$dir/npm" ccusage "@ccusage/ccusage-$(node -p 'process.platform + "-" + process.arch')" || failed+=(ccusage)
# Version 3 needs a package that the registry does not have.
npm install --silent --no-audit --no-fund --prefix "$dir/npm" @musistudio/claude-code-router@2.0.0 || failed+=(claude-code-router)
GOBIN="$dir" go install github.com/rossoctl/context-guru/cmd/context-guru-proxy@v0.1.0 &&
  mv "$dir/context-guru-proxy" "$dir/context-guru" || failed+=(context-guru)

[ ${#failed[@]} -eq 0 ] || { echo "not installed: ${failed[*]}" >&2; exit 1; }
