#!/usr/bin/env bash
# Makes the Debian package with this system's compiler and libraries.
#   packaging/deb.sh OUTDIR BUILD JOBS      OUTDIR holds THIRD_PARTY_LICENSES already
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=$(realpath -m "$1") build=$2 jobs=$3

cmake -G Ninja -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/usr -DSHALE_TESTS=OFF -DSHALE_LIBRARY=ON \
  -DSHALE_THIRD_PARTY_LICENSES="$out/THIRD_PARTY_LICENSES" \
  -DCMAKE_CXX_COMPILER=/usr/bin/c++ -DCMAKE_CXX_FLAGS="-ffile-prefix-map=$root=."
ninja -C "$build" -j "$jobs" shale libshale
mkdir -p "$out"
(cd "$build" && cpack -G DEB -B "$out")
rm -rf "$out/_CPack_Packages"
