#!/bin/sh
# Prints the path of a Chromium; its only output on stdout. Finds none: installs one where it may (root with apt),
# otherwise says what to install.
set -eu

find_it() {
    command -v chromium || command -v chromium-browser || command -v google-chrome
}

install_it() {
    echo "No Chromium found: installing it" >&2
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq >&2 && apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >&2
}

if find_it; then
    exit 0
fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null && install_it && find_it; then
    exit 0
fi
echo "These tests need Chromium: install it (Debian and Ubuntu: apt-get install chromium)." >&2
exit 1
