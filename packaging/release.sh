#!/usr/bin/env bash
# Makes a release from this tree, and checks it.
#   packaging/release.sh [OUTDIR]     OUTDIR: where the products go (default dist); products that lie there are replaced
#   SHALE_RELEASE_CACHE  tools, third-party libraries and compilers, kept between runs (default ~/.cache/shale-release)
#   SHALE_RELEASE_JOBS   compilers at once (default: the CPUs)
#   SHALE_RELEASE_CHECK  no: build only; packaging/check.sh OUTDIR checks
# It takes a Debian 12 x86_64 with what packaging/install-deps.sh installs. packaging/README.md says what comes out.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
out=$(realpath -m "${1:-$root/dist}")
cache=$(realpath -m "${SHALE_RELEASE_CACHE:-$HOME/.cache/shale-release}")
jobs=${SHALE_RELEASE_JOBS:-$(nproc)}
build=$root/build/release
begin=$SECONDS
cd "$root"
unset PYTHONPATH PYTHONHOME VIRTUAL_ENV CFLAGS CXXFLAGS LDFLAGS
umask 022
export LC_ALL=C.UTF-8 TZ=UTC PYTHONDONTWRITEBYTECODE=1
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH

if ! command -v nasm >/dev/null; then
  printf 'release: nasm is missing\nhint: packaging/install-deps.sh installs all that a release takes\n' >&2
  exit 1
fi

say() {
  printf -- '--- %4d s: %s\n' "$((SECONDS - begin))" "$*"
}

# The stamp holds the pins, and is written last: an interrupted set-up starts again.
tools=$cache/tools-$(sha256sum "$here/tools.txt" | cut -c1-12)
if [[ ! -e $tools/complete ]]; then
  say "tools of packaging/tools.txt"
  rm -rf "$tools"
  /usr/bin/python3 -m venv "$tools"
  "$tools/bin/python" -m pip install --quiet -r "$here/tools.txt"
  : >"$tools/complete"
fi
PATH=$tools/bin:$PATH
zig=$(echo "$tools"/lib/python3*/site-packages/ziglang/zig)
export ZIG_GLOBAL_CACHE_DIR=$cache/zig

# What a CMake build of shale is told for one target. Flags: see packaging/README.md.
settings() { # TARGET
  local target=$1
  compiler=$cache/compiler-$target
  "$here/compiler.sh" "$zig" "$target" "$compiler"
  prefix=$("$here/libraries.sh" "$compiler" "$target" "$cache")
  export PKG_CONFIG_LIBDIR=$prefix/lib/pkgconfig
  local flags="-D_LIBCPP_ENABLE_CXX17_REMOVED_UNARY_BINARY_FUNCTION -ffunction-sections -fdata-sections"
  flags+=" -ffile-prefix-map=$root=. -ffile-prefix-map=$cache=."
  # shellcheck disable=SC2054 # no comma separates these
  defines=(
    CMAKE_CXX_COMPILER="$compiler/c++" CMAKE_AR="$compiler/ar" CMAKE_RANLIB="$compiler/ranlib"
    CMAKE_PREFIX_PATH="$prefix" CMAKE_FIND_ROOT_PATH="$prefix"
    CMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY CMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY CMAKE_FIND_ROOT_PATH_MODE_PACKAGE=BOTH
    Boost_NO_BOOST_CMAKE=ON BOOST_ROOT="$prefix" CMAKE_CXX_FLAGS="$flags"
    CMAKE_EXE_LINKER_FLAGS=-Wl,--gc-sections CMAKE_MODULE_LINKER_FLAGS=-Wl,--gc-sections
    CMAKE_BUILD_TYPE=Release SHALE_TESTS=OFF SHALE_WERROR=OFF
  )
}

# One tree for all Pythons: the objects of the library are the same. What CMake knows of the last Python goes.
wheel_for() { # PYTHON API
  local python=$1 api=$2 venv work=$build/wheel-$2
  venv=$cache/python-$("$python" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])')-$(sha256sum "$here/tools.txt" | cut -c1-12)
  if [[ ! -e $venv/complete ]]; then
    rm -rf "$venv"
    "$python" -m venv "$venv"
    grep -E '^(nanobind|scikit_build_core)==' "$here/tools.txt" >"$venv/pins"
    "$venv/bin/python" -m pip install --quiet -r "$venv/pins"
    : >"$venv/complete"
  fi
  rm -rf "$work" "$build/wheel/CMakeCache.txt" "$build/wheel/.skbuild-info.json"
  mkdir -p "$work"/{plain,repaired,unpacked}
  local -a words=()
  for define in "${defines[@]}"; do words+=(--config-settings="cmake.define.$define"); done
  [[ $api == *-abi3 ]] && words+=(--config-settings=wheel.py-api="${api%-abi3}")
  "$venv/bin/python" -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir "$work/plain" \
    --config-settings=build-dir="$build/wheel" --config-settings=build.tool-args="-j$jobs" "${words[@]}" . \
    >"$work/build.log" 2>&1 || { tail -60 "$work/build.log" >&2 && exit 1; }
  auditwheel repair --strip --plat manylinux_2_28_x86_64 --only-plat --wheel-dir "$work/repaired" "$work"/plain/*.whl \
    >"$work/repair.log" 2>&1 || { cat "$work/repair.log" >&2 && exit 1; }
  python -m wheel unpack --dest "$work/unpacked" "$work"/repaired/*.whl >"$work/pack.log"
  local -a info=("$work"/unpacked/*/*.dist-info)
  mkdir -p "${info[0]}/licenses"
  cp "$build/THIRD_PARTY_LICENSES" "${info[0]}/licenses"
  rm -rf "${info[0]}/sboms"
  python -m wheel pack --dest-dir "$out" "$work"/unpacked/* >>"$work/pack.log"
}

mkdir -p "$out" "$build"
rm -f "$out"/shale-*.whl "$out"/shale_*.deb "$out"/{shale-linux-x86_64,THIRD_PARTY_LICENSES,SHA256SUMS}

say "libraries, musl"
settings x86_64-linux-musl
say "shale-linux-x86_64"
cmake -G Ninja -S . -B "$build/musl" "${defines[@]/#/-D}" >"$build/musl.log"
ninja -C "$build/musl" -j "$jobs" shale >>"$build/musl.log" || { tail -60 "$build/musl.log" >&2 && exit 1; }
strip -o "$out/shale-linux-x86_64" "$build/musl/shale"

say "libraries, glibc 2.28"
settings x86_64-linux-gnu.2.28
python "$here/third_party.py" "$prefix" "$(dirname "$zig")" "$(dirname "$(dirname "$zig")")" >"$build/THIRD_PARTY_LICENSES"
cp "$build/THIRD_PARTY_LICENSES" "$out"
for api in cp311 cp312-abi3 cp310; do
  series=3.${api:3:2}
  if python_of=$("$here/newest_python.sh" "$series"); then
    say "wheel $api with $python_of"
    wheel_for "$python_of" "$api"
  else
    say "wheel $api: NOT MADE: no Python $series with headers and ensurepip is here"
  fi
done

say "Debian package"
unset PKG_CONFIG_LIBDIR
"$here/deb.sh" "$out" "$build/deb" "$jobs" >"$build/deb.log" 2>&1 || { tail -60 "$build/deb.log" >&2 && exit 1; }

cd "$out"
products=(shale-*.whl shale-linux-x86_64 shale_*.deb THIRD_PARTY_LICENSES)
sha256sum "${products[@]}" >SHA256SUMS
say "built"
stat -c '%10s %n' "${products[@]}"
cat SHA256SUMS
cd "$root"
if [[ ${SHALE_RELEASE_CHECK:-yes} != no ]]; then
  SHALE_RELEASE_CACHE=$cache "$here/check.sh" "$out"
  say "checked"
fi
