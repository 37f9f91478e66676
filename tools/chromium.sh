#!/bin/sh
# Prints the path of a Chromium; its only output on stdout. Finds none: installs one where it may (root with apt),
# otherwise says what to install.
set -eu
. "$(dirname "$0")/find_or_install.sh"

find_it() {
    command -v chromium || command -v chromium-browser || command -v google-chrome
}

install_it() {
    echo "No Chromium found: installing it" >&2
    install_packages chromium fonts-dejavu-core
}

find_or_install find_it install_it \
    "These tests need Chromium: install it (Debian and Ubuntu: apt-get install chromium)."
