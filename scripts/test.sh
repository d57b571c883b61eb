#!/usr/bin/env bash
# Install what is missing, run every static check, then the tests: `sudo ./scripts/test.sh` is what CI runs.
# First all tests that compare no times, side by side, each worker with a network and a lock of its own; then those that
# do, one after the other, since a busy machine makes packets late. Without root the tests that need it are skipped.
# Arguments go to one pytest, and the checks are left out: `sudo ./scripts/test.sh -k table`.
# The exit status is that of the first part that fails; when the checks fail, the tests do not run. Pytest's own summary
# is the last line.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
SIDE_BY_SIDE="not timing"
AT_ONCE=3                       # on two cores: they wait much of the time, for silence or for an answer

./scripts/setup.sh --tests
if (($#)); then
    exec .venv/bin/python -m pytest "$@"
fi
./scripts/check.sh
echo "test: set-up and checks took $SECONDS s; now the tests"
status=0
TFO_LAB_TEST_SHARED=$(mktemp -d)    # what both parts use, such as a recording of the test internet
export TFO_LAB_TEST_SHARED
trap 'rm -rf "$TFO_LAB_TEST_SHARED"' EXIT
.venv/bin/python -m pytest -n "$AT_ONCE" --dist loadfile --no-loadscope-reorder -m "$SIDE_BY_SIDE" || status=$?
echo "test: $SECONDS s; now the tests that compare times, one after the other"
mapfile -t timed < <(grep -rl --include='test_*.py' 'mark\.timing' tests)    # to look into all files takes 6 s more
.venv/bin/python -m pytest -m "not ($SIDE_BY_SIDE)" "${timed[@]}" || exit $((status ? status : $?))
exit "$status"
