#!/usr/bin/env bash
# Builds lib, formats and tools, warnings being errors, with the newest clang that apt offers, and installs it first (root or sudo).
# .ci/run has g++ 12 and clang 14, those of Debian 12; this shows what later compilers will say.
#   tests/newest-clang.sh [BUILD]     BUILD: build/newest-clang
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${1:-$root/build/newest-clang}
clang=$(apt-cache search '^clang-[0-9]+$' | cut -d' ' -f1 | sort -V | tail -n 1)
if [[ -z $clang ]]; then
  printf "newest-clang.sh: apt offers no clang\nhint: run 'apt-get update' first\n" >&2
  exit 1
fi
if ! command -v "clang++-${clang#clang-}" >/dev/null; then
  as_root=()
  ((EUID == 0)) || as_root=(sudo)
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$clang"
fi
cd "$root"
# In libstdc++ 12 std::stable_sort calls a function of its own that it has deprecated.
cmake --preset tidy -B "$build" "-DCMAKE_CXX_COMPILER=clang++-${clang#clang-}" -DCMAKE_CXX_FLAGS=-Wno-deprecated-declarations
cmake --build "$build" --parallel "$(nproc)" -- -k 0
