#!/usr/bin/env bash
# Install what is missing, run every static check, then the tests: `sudo ./scripts/test.sh` is what CI runs.
# Arguments go to pytest: `sudo ./scripts/test.sh -k table`. Without root the tests that need it are skipped.
# The exit status is that of the first part that fails; when the checks fail, the tests do not run. Pytest's own summary
# is the last line.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
./scripts/setup.sh --tests
./scripts/check.sh
echo "test: set-up and checks took $SECONDS s; now the tests"
exec .venv/bin/python -m pytest "$@"
