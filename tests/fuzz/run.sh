#!/usr/bin/env bash
# Fuzzes: tests/fuzz/run.sh MINUTES [TARGET...], each target (all, if none is named) so long, one after the other, with the build in
# FUZZ_BUILD (build/fuzz: the preset fuzz). Builds nothing. Exits 1 if a target finds something: it lies in FUZZ_FOUND
# (build/fuzz-found), and so do new inputs, not in corpus/.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
minutes=${1:?usage: tests/fuzz/run.sh MINUTES [TARGET...]}
shift
build=${FUZZ_BUILD:-$root/build/fuzz}
found=${FUZZ_FOUND:-$root/build/fuzz-found}
if [ $# -eq 0 ]; then
  for source in "$root"/tests/fuzz/fuzz_*.cpp; do
    set -- "$@" "$(basename "$source" .cpp)"
  done
fi

# Where nesting and length are what hurts, inputs may be long; elsewhere short ones are found faster.
longest() {
  case $1 in
    fuzz_csv | fuzz_journal | fuzz_manifest | fuzz_msgpack_map | fuzz_pickle_reader | fuzz_python_literal | fuzz_npy_header) echo 1048576 ;;
    *) echo 65536 ;;
  esac
}

failed=()
printf '%-22s %12s %10s %10s %8s\n' target runs exec/s coverage findings
for target in "$@"; do
  target=fuzz_${target#fuzz_}
  program=$(find "$build" -name "$target" -perm -u+x | head -1)
  if [ -z "$program" ]; then
    echo "run.sh: $build has no $target: build the target 'fuzzers' first" >&2
    exit 1
  fi
  mkdir -p "$found/$target/corpus"
  log=$found/$target/log
  "$program" -max_total_time=$((60 * minutes)) -max_len="$(longest "$target")" -timeout=25 -rss_limit_mb=2560 -print_final_stats=1 \
    -artifact_prefix="$found/$target/" "$found/$target/corpus" "$root/tests/fuzz/corpus/${target#fuzz_}" >"$log" 2>&1 || failed+=("$target")
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  speed=$(sed -n 's/^stat::average_exec_per_sec: *//p' "$log")
  coverage=$(sed -n 's/.* cov: \([0-9]*\).*/\1/p' "$log" | tail -1)
  findings=$(find "$found/$target" -maxdepth 1 -name '*-*' | wc -l)
  printf '%-22s %12s %10s %10s %8s\n' "$target" "${runs:-?}" "${speed:-?}" "${coverage:-?}" "$findings"
done
if ((${#failed[@]})); then
  echo "run.sh: ended with an error: ${failed[*]}; their logs lie in $found" >&2
  exit 1
fi
