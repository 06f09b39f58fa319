#!/usr/bin/env bash
# Checks what packaging/release.sh made, and says of each check whether it passed. Exit 1 if one did not.
#   packaging/check.sh [DIST]      DIST: the products (default dist)
# Roots of other systems (Debian 11 and 12) are made by debootstrap in the cache; without root or a mirror that check is left out, aloud.
# Beside torch, h5py, Pillow and lmdb: build/peers or SHALE_PEERS (tests/install-deps.sh --peers).
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
dist=$(realpath "${1:-$root/dist}")
cache=$(realpath -m "${SHALE_RELEASE_CACHE:-$HOME/.cache/shale-release}")
peers=${SHALE_PEERS:-$root/build/peers}
tools=$cache/tools-$(sha256sum "$here/tools.txt" | cut -c1-12)
program=$dist/shale-linux-x86_64
largest_wheel=$((6 * 1000 * 1000))
PATH=$tools/bin:$PATH
unset PYTHONPATH PYTHONHOME VIRTUAL_ENV
export PYTHONDONTWRITEBYTECODE=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
failures=0

check() { # TITLE COMMAND...: its output is shown if it fails
  local title=$1 begin=$SECONDS
  shift
  if "$@" >"$work/log" 2>&1; then
    printf 'ok      %s (%d s)\n' "$title" "$((SECONDS - begin))"
    grep -h '^left out' "$work/log"
  else
    printf 'FAILED  %s\n' "$title"
    tail -30 "$work/log"
    failures=$((failures + 1))
  fi
}

sums() { (cd "$dist" && sha256sum --check --quiet SHA256SUMS); }
small() { (($(stat -c %s "$1") <= largest_wheel)); }
platform() { auditwheel show "$1" | tr '\n' ' ' | grep -qE '"manylinux_2_(1[0-9]|2[0-8])_x86_64"'; }
no_paths() { ! grep -rlaE "$root|$cache|/tmp/tmp\." "$1"; }
installs() { "$1" -m venv "$2" && "$2/bin/python" -m pip install --quiet --no-compile "$3"; }
static() { ! readelf -ld "$program" | grep -E 'INTERP|NEEDED'; }
lists_libraries() { "$1" --version | sed 1q | grep -x "shale [0-9.]*" && "$1" --version | grep '^HDF5 [0-9]'; }

# A dataset made, verified and read in ROOT, with nothing but a program at /shale.
round_trip() { # ROOT
  mkdir -p "$1/tmp" "$1/proc"
  cp -r "$work/arrays" "$1/arrays"
  local format
  for format in record lmdb hdf5; do
    chroot "$1" /shale convert /arrays/x.npy "/tmp/$format" --to "$format" --quiet &&
      chroot "$1" /shale verify "/tmp/$format" --against /arrays/x.npy --quiet || return 1
  done
}

in_nothing() {
  ((EUID == 0)) || { printf 'left out: chroot takes root\n' && return 0; }
  mkdir "$work/nothing"
  cp "$program" "$work/nothing/shale"
  round_trip "$work/nothing"
}

# Where this machine takes Debian from.
mirror() {
  # shellcheck disable=SC2016 # apt-get's own names
  apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Component: main' 'Origin: Debian' | grep -v security | head -1
}

# A fresh copy of SUITE's smallest system.
system() { # SUITE ROOT
  local base=$cache/debian-$1
  ((EUID == 0)) || { printf 'left out: chroot takes root\n' && return 1; }
  command -v debootstrap >/dev/null || { printf 'left out: no debootstrap\n' && return 1; }
  if [[ ! -e $base/complete ]]; then
    rm -rf "$base"
    debootstrap --variant=minbase "$1" "$base" "$(mirror)" >"$work/debootstrap.log" 2>&1 ||
      { printf 'left out: debootstrap %s: %s\n' "$1" "$(tail -1 "$work/debootstrap.log")" && return 1; }
    : >"$base/complete"
  fi
  cp -a "$base" "$2"
  : >"$2/dev/null"
}

in_old_userland() {
  system bullseye "$work/bullseye" || return 0
  cp "$program" "$work/bullseye/shale"
  round_trip "$work/bullseye" || return 1
  # The program of the wheel, too: glibc 2.31 is the oldest that can be had.
  unzip -q -o "$(compgen -G "$dist/*cp311*.whl")" 'shale/bin/shale' -d "$work/of-wheel"
  rm -rf "$work/bullseye"/{arrays,tmp/*}
  install -m755 "$work/of-wheel/shale/bin/shale" "$work/bullseye/shale"
  mount --rbind /proc "$work/bullseye/proc"
  round_trip "$work/bullseye"
  local result=$?
  umount -l "$work/bullseye/proc"
  return "$result"
}

installs_on_debian_12() {
  system bookworm "$work/bookworm" || return 0
  cp "$dist"/shale_*.deb "$work/bookworm/tmp"
  cp /etc/resolv.conf "$work/bookworm/etc"
  cp /etc/apt/apt.conf.d/*proxy* "$work/bookworm/etc/apt/apt.conf.d" 2>/dev/null
  chroot "$work/bookworm" sh -ec 'export DEBIAN_FRONTEND=noninteractive
    apt-get update -q
    apt-get install -q -y --no-install-recommends /tmp/shale_*.deb
    shale --version
    test -s /usr/share/man/man1/shale-convert.1.gz || test -e /etc/dpkg/dpkg.cfg.d/docker
    test -s /usr/share/bash-completion/completions/shale
    test -s /usr/share/zsh/vendor-completions/_shale
    test -s /usr/share/fish/vendor_completions.d/shale.fish
    test -s /usr/share/doc/shale/copyright
    test -s /usr/share/doc/shale/THIRD_PARTY_LICENSES
    test -s /usr/include/shale/dataset.hpp
    ldconfig -p | grep -q "libshale.so.0.2 .*/usr/lib"
    ! ldd /usr/lib/x86_64-linux-gnu/libshale.so | grep "not found"
    ln -s /usr/bin/shale /shale' && round_trip "$work/bookworm"
}

of_the_program() {
  SHALE=$program python "$root/tests/cli/cli_test.py"
}

mkdir "$work/arrays"
python - "$work/arrays/x.npy" <<'END'
import struct, sys
head = b"{'descr': '|u1', 'fortran_order': False, 'shape': (1000, 4, 3), }"
head += b" " * (63 - (10 + len(head)) % 64) + b"\n"
with open(sys.argv[1], "wb") as file:
    file.write(b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head + bytes(range(240)) * 50)
END

check "SHA256SUMS" sums
for wheel in "$dist"/*.whl; do
  name=$(basename "$wheel")
  tag=${name#shale-*-}
  api=${tag%%-manylinux*}
  case $api in
    cp312-abi3) series=(3.12 3.13) ;;
    *) series=("3.${api:3:2}") ;;
  esac
  check "$api: at most 6 MB ($(stat -c %s "$wheel") bytes)" small "$wheel"
  check "$api: manylinux_2_28 or older by auditwheel" platform "$wheel"
  if [[ $api == *-abi3 ]]; then check "$api: abi3audit" abi3audit --strict "$wheel"; fi
  for one in "${series[@]}"; do
    python_of=$("$here/newest_python.sh" "$one") || { printf 'left out: no Python %s\n' "$one" && continue; }
    venv=$work/venv-$one
    check "$api: pip install, $one" installs "$python_of" "$venv" "$wheel"
    site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
    check "$api: what is in it, $one" python "$root/tests/wheel/contents_test.py" "$site"
    check "$api: no paths of the build, $one" no_paths "$site/shale"
    check "$api: numpy alone, $one" env SHALE="$venv/bin/shale" "$venv/bin/python" "$root/tests/wheel/alone_test.py"
    check "$api: in a root without our libraries, $one" "$root/tests/wheel/minimal_root.sh" "$venv" "$work/root-$one"
    if [[ $("$peers/bin/python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) == "$one" ]]; then
      peer_site=$("$peers/bin/python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
      check "$api: beside torch, h5py, Pillow and lmdb, $one" env PYTHONPATH="$peer_site" SHALE="$venv/bin/shale" "$venv/bin/python" "$root/tests/wheel/peers_test.py"
    fi
  done
done
check "program: static" static
check "program: --version lists libraries" lists_libraries "$program"
check "program: no paths of the build" no_paths "$program"
check "program: golden cases of tests/cli" of_the_program
check "program: in a root with nothing else" in_nothing
check "program and wheel: Debian 11, glibc 2.31" in_old_userland
check "deb: installs and runs on a bare Debian 12" installs_on_debian_12

printf 'check: %d failed\n' "$failures"
((failures == 0))
