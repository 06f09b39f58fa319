#!/usr/bin/env bash
# Runs an installed shale in a root that holds Python, the C and C++ run time, and no library of ours.
#   tests/wheel/minimal_root.sh VENV ROOT      ROOT: an empty place for it
# What it needs: mounts of its own, as root or in a user namespace. Where neither is to be had, it says so and proves nothing.
set -euo pipefail

venv=$1
root=$2

apart=(unshare --mount)
if ! "${apart[@]}" true 2>/dev/null; then
  apart+=(--user --map-root-user)
  if ! "${apart[@]}" true 2>/dev/null; then
    printf 'minimal root: neither root nor user namespaces: left out\n'
    exit 0
  fi
fi

mkdir -p "$root"/{usr,tmp,dev,proc}
for directory in bin lib lib64; do
  mkdir -p "$root/usr/$directory"
  ln -s "usr/$directory" "$root/$directory"
done

# A file and the libraries that it names, each at the place where the loader looks.
bring() {
  local file
  for file in "$@"; do
    mkdir -p "$root$(dirname "$file")"
    cp -L "$file" "$root$file"
    ldd "$file" 2>/dev/null | grep -o '/[^ ]*' | while read -r library; do
      [[ -e $root$library ]] || cp -L --parents "$library" "$root"
    done
  done
}

python=$(readlink -f "$venv/bin/python")
prefix=$("$python" -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')
site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
libraries=/lib/$(gcc -print-multiarch)
bring "$python" "$libraries"/{libstdc++.so.6,libgcc_s.so.1,libpthread.so.0,libdl.so.2,librt.so.1,libz.so.1}
bring "$libraries/libresolv.so.2" "$libraries/libffi.so.8"
mkdir -p "$root$prefix" "$root/site"
cp -r "$prefix/." "$root$prefix"
cp -r "$site"/{shale,numpy,numpy.libs} "$root/site"
if [[ -d $site/shale.libs ]]; then cp -r "$site/shale.libs" "$root/site"; fi
cp -r "$site"/shale-*.dist-info "$root/site"

for library in hdf5_serial lmdb fmt boost_program_options xxhash isal uring png16 jpeg; do
  if compgen -G "$root/usr/lib/*/lib$library.so*" >/dev/null; then
    printf 'minimal root: lib%s is in it: nothing would be proved\n' "$library" >&2
    exit 1
  fi
done

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
: >"$root/dev/null" # reads as empty, like the real one
mkdir -p "$root/tests/support" "$root/tests/wheel"
cp "$here/../support/shale_tool.py" "$root/tests/support"
cp "$here/alone_test.py" "$root/tests/wheel"
# /proc: the loader asks it where the program lies, to find $ORIGIN. The mount ends with the process.
# shellcheck disable=SC2016
"${apart[@]}" env PYTHONPATH=/site SHALE=/site/shale/bin/shale \
  sh -c 'mount --rbind /proc "$1/proc" && exec chroot "$@"' sh "$root" "$python" /tests/wheel/alone_test.py
