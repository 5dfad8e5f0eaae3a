#!/bin/sh
# Prints the size of the parts of a built stet: megabytes of machine code for each module.
# Usage: go build ./cmd/stet && bench/size.sh stet
set -eu
go tool nm -size "$1" | awk '
$3 ~ /^[Tt]$/ {
  name = $4; for (i = 5; i <= NF; i++) name = name " " $i
  module = "the standard library and the rest"
  # The host of a module, and the two names that follow it.
  if (match(name, /(github\.com|golang\.org|modernc\.org|google\.golang\.org)\/[^\/. ]+(\.[^\/. ]+)?(\/[^\/.(* ]+)?/))
    module = substr(name, RSTART, RLENGTH)
  size[module] += $2; all += $2
}
END {
  for (m in size) if (size[m] >= 2e5) printf "%6.1f %s\n", size[m] / 1e6, m
  printf "%6.1f all\n", all / 1e6
}' | sort -rn
