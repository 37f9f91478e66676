#!/bin/sh
# Prints the home of a Java that Spark 4.2 runs on (17 or 21); its only output on stdout.
# Looks at JAVA_HOME, the path and the usual places. Finds none: installs one where it may (root with apt), otherwise
# says what to install.
set -eu
. "$(dirname "$0")/find_or_install.sh"

runs_spark() {
    "$1/bin/java" -version 2>&1 | grep -Eq '^[a-z]+ version "(17|21)[."]'
}

find_home() {
    on_path=$(command -v java || true)
    if [ -n "$on_path" ]; then
        on_path=$(dirname "$(dirname "$(readlink -f "$on_path")")")
    fi
    for home in "${JAVA_HOME:-}" "$on_path" /usr/lib/jvm/* /Library/Java/JavaVirtualMachines/*/Contents/Home; do
        if [ -n "$home" ] && [ -x "$home/bin/java" ] && runs_spark "$home"; then
            echo "$home"
            return 0
        fi
    done
    return 1
}

install_java() {
    echo "No Java 17 or 21 found: installing openjdk-17-jre-headless" >&2
    install_packages openjdk-17-jre-headless
}

find_or_install find_home install_java \
    "Spark needs Java 17 or 21: install one (Debian and Ubuntu: apt-get install openjdk-17-jre-headless) or set JAVA_HOME."
