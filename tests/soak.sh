#!/usr/bin/env bash
# Attacks shale at random until the time is over: kills, signals, flips, truncations, swaps, full disks, mutated files of other tools,
# hostile manifests, and clean runs in between that must raise no alarm. Prints what was tried, and exits 1 if anything did not hold.
#   tests/soak.sh MINUTES [--seed N] [--jobs N] [--only ATTACK,...]      SHALE names the program (default build/release/shale)
# Begins with an .npz beyond 4 GiB, a fault of the storage at every call of a convert, and every bit of tiny sets (MINUTES 0 leaves them out).
#   tests/soak.sh resume [KILLS]      kills convert at KILLS steps (default 25) of each format and kind of input, the other commands too, and cuts the power at 200 calls
#   tests/soak.sh loaders             the tests of samplers and loaders, with a thousand random rounds
# Builds nothing. A failure prints the seed of its round; tests/soak.sh 0 --seed N repeats that round alone.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
if (($# == 0)) || [[ $1 == -h || $1 == --help ]]; then
  sed -n '2,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
  exit $(($# == 0 ? 2 : 0))
fi
if [[ $1 == resume ]]; then
  export SHALE=${SHALE:-$root/build/release/shale} RESUME_KILLS=${2:-25} POWER_CUTS=200 PYTHONDONTWRITEBYTECODE=1
  cd "$root/tests/faults"
  exec python3 -m unittest -v test_resume test_killed_commands test_power_cut
fi
peers=${SHALE_PEERS:-$root/build/peers}
"$root/tests/install-deps.sh" --peers "$peers"
SHALE=${SHALE:-$root/build/release/shale}
export SHALE PYTHONPATH=${PYTHONPATH:-$(dirname "$SHALE")/python} PYTHONDONTWRITEBYTECODE=1
if [[ $1 == loaders ]]; then
  LOADER_ROUNDS=1000 exec "$peers/bin/python" -m pytest -q -rs -p no:cacheprovider "$root"/tests/interop/test_{sampler,loader,loader_threads,loader_users}.py
fi
if [[ $1 != 0 ]]; then # what is too long for CI, once
  "$peers/bin/python" "$root/tests/soak/large_npz.py"
  (cd "$root/tests/faults" && STORAGE_FAULTS=all python3 -m unittest test_storage_faults.ReadsThatFail test_storage_faults.WritesThatFail)
  for walks in contract unit_shards; do FLIPPED_BITS=all "$(dirname "$SHALE")/tests/$walks"; done
  COMPILE_ALONE=all python3 "$root/tests/house/alone_test.py"
fi
exec "$peers/bin/python" "$root/tests/soak/soak.py" "$@"
