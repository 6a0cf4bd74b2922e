#!/bin/sh
# Bring .venv to what a lock file says: requirements/install.sh PYTHON LOCK. At once when it is there already.
set -eu

python=$1 lock=$2
venv=.venv
log=$venv/install.log
# dev.txt holds all of standalone.txt, so that one environment serves both.
case $lock in
*/dev.txt) locks="requirements/dev.txt requirements/standalone.txt" ;;
*) locks=$lock ;;
esac

fail() {
    printf '%s\n' "$*" >&2
    exit 1
}

mark() { printf '%s/installed-%s' "$venv" "$(basename "$1")"; }

usable() { "$venv/bin/python" -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

make_venv() {
    version=$("$python" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])' 2>/dev/null) ||
        fail "SOAT needs Python 3.11 or later, and there is no $python here that runs: name one, as in: make demo PYTHON=python3.12"
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        fail "SOAT needs Python 3.11 or later, and $python is Python $version: name another one, as in: make demo PYTHON=python3.12"
    "$python" -c 'import venv, ensurepip' 2>/dev/null ||
        fail "$python (Python $version) cannot make virtual environments: its modules venv and ensurepip are missing. On Debian and Ubuntu: apt install python3-venv"
    echo "Making .venv with Python $version"
    rm -rf "$venv"
    "$python" -m venv "$venv"
}

install() {
    total=$(grep -c '^[A-Za-z0-9]' "$lock")
    echo "Installing $lock, $total packages (log: $log)"
    # The lock is complete and hashed: nothing is resolved, and nothing is compiled.
    PIP_USER=0 "$venv/bin/python" -m pip install --disable-pip-version-check --no-input --progress-bar off \
        --require-hashes --no-deps --only-binary :all: -r "$lock" >"$log" 2>&1 &
    pip=$!
    trap 'kill $pip 2>/dev/null; wait $pip || true; exit 130' INT TERM HUP
    seconds=0
    while kill -0 "$pip" 2>/dev/null; do
        fetched=$(grep -cE '^(Collecting|Requirement already satisfied)' "$log" 2>/dev/null || true)
        if [ -t 1 ]; then
            printf '\r  %s of %s packages, %s s ' "$fetched" "$total" "$seconds"
        elif [ $((seconds % 10)) -eq 9 ]; then
            echo "  $fetched of $total packages"
        fi
        sleep 1
        seconds=$((seconds + 1))
    done
    [ ! -t 1 ] || printf '\r\033[K'
    wait "$pip" || { tail -n 15 "$log" >&2 && fail "The packages could not be installed; the whole log is $log."; }
    "$venv/bin/python" -m pip check --disable-pip-version-check >>"$log" 2>&1 ||
        fail "The packages do not fit together; the log is $log."
    echo "Installed in $seconds s"
}

usable || make_venv
if ! cmp -s "$lock" "$(mark "$lock")"; then
    install
    for each in $locks; do cp "$each" "$(mark "$each")"; done
fi
