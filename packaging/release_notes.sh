#!/usr/bin/env bash
# Prints the section of CHANGELOG.md for a tag, which has to be the version in CMakeLists.txt: the text of its release.
#   packaging/release_notes.sh vX.Y.Z
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
tag=${1:?"release_notes.sh takes a tag, such as v0.2.0"}

version=$(sed -n 's/^project(shale VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt")
if [[ $tag != "v$version" ]]; then
  printf "release_notes: tag '%s', but CMakeLists.txt says %s\nhint: tag the commit that sets the version\n" "$tag" "$version" >&2
  exit 1
fi
notes=$(awk -v heading="## [$version]" 'index($0, heading) == 1 {found = 1; next} /^## / {found = 0} found' "$root/CHANGELOG.md")
if [[ -z ${notes//[[:space:]]/} ]]; then
  printf "release_notes: CHANGELOG.md has no section '## [%s]'\nhint: give \"Unreleased\" the version and the date\n" "$version" >&2
  exit 1
fi
printf '%s\n' "$notes"
