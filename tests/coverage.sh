#!/usr/bin/env bash
# How many lines of lib and formats the tests run: builds the preset coverage, runs ctest, prints a table by gcovr (pip installs it).
#   tests/coverage.sh [CTEST_OPTION...]     such as: tests/coverage.sh -LE 'slow|house'
# build/coverage/report/index.html shows the lines. Processes that a test kills leave no counts.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
gcovr=${GCOVR:-gcovr}
if ! command -v "$gcovr" >/dev/null; then
  printf "coverage.sh: gcovr is not installed\nhint: python3 -m pip install gcovr, or set GCOVR to its path\n" >&2
  exit 1
fi

cmake --preset coverage
cmake --build --preset coverage --parallel "$(nproc)"
find build/coverage -name '*.gcda' -delete
failed=0
ctest --test-dir build/coverage --output-on-failure --parallel "$(nproc)" "$@" || failed=1
mkdir -p build/coverage/report
"$gcovr" --root . --filter 'lib/' --filter 'formats/' --exclude-unreachable-branches --exclude-throw-branches -j "$(nproc)" \
  --html-details build/coverage/report/index.html --txt build/coverage/report/lines.txt --sort uncovered-number --print-summary build/coverage
exit "$failed"
