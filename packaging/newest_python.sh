#!/usr/bin/env bash
# Prints the newest interpreter of a series (3.11) that is found with its headers; exit 1 if there is none.
#   packaging/newest_python.sh SERIES
set -euo pipefail

looks='import ensurepip, os, sysconfig; assert os.path.exists(sysconfig.get_path("include") + "/Python.h")'
while read -r candidate; do
  if [[ -x $candidate ]] && "$candidate" -c "$looks" 2>/dev/null; then
    printf '%s\n' "$candidate"
    exit 0
  fi
done < <(compgen -G "$HOME/.pyenv/versions/$1.*/bin/python" | sort -rV; type -ap "python$1" || true)
exit 1
