#!/usr/bin/env bash
# Installs what packaging/release.sh needs on a bare Debian 12, as root: packages, and the Pythons that Debian 12 lacks, by pyenv.
#   packaging/install-deps.sh
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
pyenv=$HOME/.pyenv
pythons=(3.10 3.12 3.13)  # Debian 12 has 3.11; the wheel for 3.12 is tested with 3.13, too

packages=(nasm dpkg-dev file)                     # release.sh: the libraries from Debian's sources, and the Debian package
packages+=(unzip debootstrap)                     # check.sh
packages+=(git curl make libssl-dev libbz2-dev libffi-dev liblzma-dev libreadline-dev libsqlite3-dev)  # pyenv builds Pythons with these

"$root/tests/install-deps.sh"
apt-get update -q  # also when nothing was missing: libraries.sh asks apt where this machine gets Debian from
DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${packages[@]}"

if [[ ! -x $pyenv/bin/pyenv ]]; then
  git clone -q --depth 1 https://github.com/pyenv/pyenv "$pyenv"
fi
for series in "${pythons[@]}"; do
  if ! "$root/packaging/newest_python.sh" "$series" >/dev/null; then
    MAKE_OPTS=-j$(nproc) "$pyenv/bin/pyenv" install "$series"
  fi
done
