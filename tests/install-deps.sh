#!/usr/bin/env bash
# Installs what shale needs and this machine (Debian 12 or its like) lacks, by apt-get. Nothing missing: no apt call.
#   tests/install-deps.sh --program     to build the program, and no more
#   tests/install-deps.sh               ... and its Python package, and to run the tests
#   tests/install-deps.sh --ci          ... and what .ci/run needs: second compiler, linters, a SLURM
#   tests/install-deps.sh --peers [DIR] ... and a browser, and a Python environment with the peers of tests/interop (default build/peers)
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")

program_packages=(
  g++ cmake ninja-build pkg-config
  libboost-program-options-dev libfmt-dev libisal-dev libgif-dev libjpeg62-turbo-dev libpng-dev libtiff-dev libturbojpeg0-dev libwebp-dev
  libhdf5-dev libkainjow-mustache-dev liblmdb-dev libmsgpack-cxx-dev
  liburing-dev libxxhash-dev nlohmann-json3-dev zlib1g-dev libzstd-dev liblz4-dev libmd-dev libpugixml-dev libsnappy-dev libyaml-dev python3
)
test_packages=(libheif1 doctest-dev python3-dev python3-venv strace bindfs zstd zip p7zip-full)
peer_packages=(chromium)  # shows the page of 'shale report' to tests/interop
ci_packages=(clang clang-format clang-tidy libclang-rt-14-dev libfuse2 shellcheck mandoc strace slurm-wlm munge openmpi-bin zsh fish)

fail() {
  printf 'install-deps: %s\nhint: %s\n' "$1" "$2" >&2
  exit 1
}

usage() {
  sed -n '2,6s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
}

wanted=("${program_packages[@]}" "${test_packages[@]}")
peers=
while (($#)); do
  case $1 in
    --program) wanted=("${program_packages[@]}") ;;
    --ci) wanted+=("${ci_packages[@]}") ;;
    --peers)
      peers=$root/build/peers
      wanted+=("${peer_packages[@]}")
      if (($# > 1)) && [[ $2 != --* ]]; then
        peers=$2
        shift
      fi
      ;;
    -h | --help)
      usage
      exit 0
      ;;
    *) fail "unknown option '$1'" "the options are --program, --ci and --peers [DIR]" ;;
  esac
  shift
done

missing_packages() {
  local package
  for package in "$@"; do
    if [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) != installed ]]; then
      printf '%s\n' "$package"
    fi
  done
}

install_packages() {
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    fail "this is not a Debian-like system (no apt-get)" "install the equivalents of: $*"
  fi
  local -a missing as_root=()
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]})) || return 0
  if ((EUID != 0)); then
    command -v sudo >/dev/null ||
      fail "packages are missing, and installing them takes root or sudo" "as root: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  printf 'install-deps: installing %s\n' "${missing[*]}"
  "${as_root[@]}" apt-get update -q
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
}

# The stamp holds the pins: same pins, nothing to do. It is written last, so an interrupted set-up starts again.
install_peers() {
  local venv=$1 pins=$here/interop/peers.txt pins_alone=$here/interop/peers-no-deps.txt pins_tars=$here/interop/peers-tars.txt
  if [[ -f $venv/shale-pins ]] && cat "$pins" "$pins_alone" "$pins_tars" | cmp -s - "$venv/shale-pins"; then
    return 0
  fi
  printf 'install-deps: setting up the peers in %s\n' "$venv"
  # Debian's own interpreter: the one that python3-venv belongs to.
  local python=/usr/bin/python3
  [[ -x $venv/bin/python ]] || "$python" -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet -r "$pins"
  "$venv/bin/python" -m pip install --quiet --no-deps -r "$pins_alone"
  if "$venv/bin/python" -m pip install --quiet --no-deps -r "$pins_tars"; then
    cat "$pins" "$pins_alone" "$pins_tars" >"$venv/shale-pins"
  else
    printf 'install-deps: going on without what is in %s: its tests are skipped\n' "$pins_tars"
  fi
}

install_packages "${wanted[@]}"
if [[ -n $peers ]]; then
  install_peers "$peers"
fi
