#!/usr/bin/env bash
# Checks lib, formats, tools and python/bindings with clang-tidy and the checks of .clang-tidy: tests/clang-tidy.sh
# Builds nothing. The preset tidy joins the files of a folder into one, so that the headers are read once: minutes become one.
# SHALE_PEERS names the Python environment with nanobind (build/peers: tests/install-deps.sh --peers).
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
peers=${SHALE_PEERS:-$root/build/peers}

cmake --preset tidy -DSHALE_PYTHON=ON "-DPython_EXECUTABLE=$peers/bin/python" >/dev/null
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# nanobind's own sources are in the list too.
if ! run-clang-tidy -p build/tidy -j "$(nproc)" -quiet '/(CMakeFiles/shale[a-z_]*\.dir|tools)/' >"$log" 2>&1; then
  grep -v ' warnings generated' "$log"
  exit 1
fi
