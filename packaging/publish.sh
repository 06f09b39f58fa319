#!/usr/bin/env bash
# Publishes the files of a release on GitHub under its tag, with its section of the changelog as the text.
#   packaging/publish.sh vX.Y.Z DIST      DIST: what packaging/release.sh made. It takes gh, and GH_TOKEN in the environment.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tag=${1:?"publish.sh takes a tag, such as v0.2.0"} dist=${2:?"publish.sh takes the folder of the files"}

notes=$(mktemp)
trap 'rm -f "$notes"' EXIT
"$here/release_notes.sh" "$tag" >"$notes"
(cd "$dist" && sha256sum --check --quiet SHA256SUMS)
gh release create "$tag" "$dist"/* --verify-tag --title "shale ${tag#v}" --notes-file "$notes"
