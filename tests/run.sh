#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test: ctest, then those in Python: the package, real peers, a real SLURM.
#   tests/run.sh [--preset NAME] [--no-interop]
# The peers live in build/peers; SHALE_PEERS names another Python environment made by tests/install-deps.sh --peers.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

preset=release
interop=yes
while (($#)); do
  case $1 in
    --preset)
      preset=${2:?"--preset takes a name; cmake --list-presets lists them"}
      shift
      ;;
    --no-interop) interop=no ;;
    -h | --help)
      sed -n '2,4s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
      exit 0
      ;;
    *)
      printf "run.sh: unknown option '%s'\nhint: the options are --preset NAME and --no-interop\n" "$1" >&2
      exit 2
      ;;
  esac
  shift
done
peers=${SHALE_PEERS:-$root/build/peers}
at_once=$(($(nproc) + 1))  # of each suite: both run at the same time, and tests wait for disks and processes as long as they compute

# From where the walks over every bit begin, of which a run takes one in so many: SHALE_TEST_SEED=N repeats them.
export SHALE_TEST_SEED=${SHALE_TEST_SEED:-$RANDOM}
printf 'SHALE_TEST_SEED=%s\n' "$SHALE_TEST_SEED"

times=()
took() { # TITLE BEGIN
  times+=("$(printf '%6d s  %s' "$((SECONDS - $2))" "$1")")
}

begin=$SECONDS
tests/install-deps.sh
if [[ $interop == yes ]]; then
  tests/install-deps.sh --peers "$peers"
fi
took "install what is missing" "$begin"
python=()
if [[ $interop == yes ]]; then
  python=(-DSHALE_PYTHON=ON "-DPython_EXECUTABLE=$peers/bin/python")
fi
# The tree may be one that a wheel was built in.
begin=$SECONDS
cmake --preset "$preset" -DSHALE_WERROR=ON -DSHALE_TESTS=ON -DSHALE_LIBRARY=ON -DSHALE_PORTABLE=OFF "${python[@]}"
cmake --build --preset "$preset" --parallel "$(nproc)"
took "build" "$begin"

# Both suites run at the same time, each to its end even if the other one fails; their closing lines are printed last.
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
failed=0
interop() {
  # SLURM's jobs first: they take longest.
  SHALE=$root/build/$preset/shale PYTHONPATH=$root/build/$preset/python "$peers/bin/python" -m pytest -q -rs -p no:cacheprovider --durations=25 \
    -n "$at_once" --dist loadfile --no-loadscope-reorder tests/slurm tests/interop >"$logs/pytest" 2>&1
}
begin=$SECONDS
if [[ $interop == yes ]]; then
  interop &
  pytest=$!
fi
ctest --test-dir "build/$preset" --output-on-failure --no-tests=error --parallel "$at_once" |
  tee "$logs/ctest" || failed=1
took "ctest" "$begin"
if [[ $interop == yes ]]; then
  wait "$pytest" || failed=1
  cat "$logs/pytest"
  took "pytest, from the same second" "$begin"
fi
# What a test of ctest's says that failed: the last lines of a log are read first.
awk '/^ *[0-9]+\/[0-9]+ Test +#/ {fails = /\*\*\*/} /^ +Start +[0-9]+:/ {fails = 0} /tests passed/ {exit} fails && ++lines <= 200' "$logs/ctest"
printf '\n'
printf '%s\n' "${times[@]}"
sed -n '/tests passed/p' "$logs/ctest"
if [[ $interop == yes ]]; then
  tail -n 1 "$logs/pytest"
fi
exit "$failed"
