#!/usr/bin/env bash
# Makes the wheel and uses it as a stranger would: in an empty environment, outside of the checkout, without our libraries.
#   tests/wheel/wheel_test.sh [WHEEL]      WHEEL: this one, instead of making one
# The environment with torch, h5py, Pillow and lmdb is build/peers, or SHALE_PEERS (tests/install-deps.sh --peers makes it).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
peers=${SHALE_PEERS:-$root/build/peers}
python=${PYTHON:-/usr/bin/python3}
unset PYTHONPATH PYTHONHOME VIRTUAL_ENV
begin=$SECONDS

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
if (($#)); then
  wheel=$(realpath "$1")
else
  "$root/python/build_wheel.sh" "$work/dist"
  wheel=$(echo "$work"/dist/*.whl)
fi

"$python" -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet "$wheel"
export SHALE=$work/venv/bin/shale
export PYTHONDONTWRITEBYTECODE=1
mkdir "$work/elsewhere"
cd "$work/elsewhere"

check() {
  local title=$1
  shift
  printf '# %s\n' "$title"
  if ! "$@"; then
    printf 'wheel_test: %s: %s: failed\n' "$(basename "$wheel")" "$title" >&2
    exit 1
  fi
}

site=$("$work/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
peer_site=$("$peers/bin/python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
check "what is in the wheel" "$python" "$here/contents_test.py" "$site"
check "numpy alone" "$work/venv/bin/python" "$here/alone_test.py"
check "numpy alone, io_uring refused" "$work/venv/bin/python" "$root/tests/support/without_io_uring.py" \
  env SHALE_IO_BACKEND_EXPECTED=threads "$work/venv/bin/python" "$here/alone_test.py"
check "a root without our libraries" "$here/minimal_root.sh" "$work/venv" "$work/root"
check "beside torch, h5py, Pillow and lmdb" env PYTHONPATH="$peer_site" "$work/venv/bin/python" "$here/peers_test.py"

printf 'wheel_test: %s: all passed, %d s\n' "$(basename "$wheel")" "$((SECONDS - begin))"
