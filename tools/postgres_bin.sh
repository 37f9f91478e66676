#!/bin/sh
# Prints the folder of PostgreSQL's programs; its only output on stdout.
# Looks at the path and at Debian's place. Finds none: installs them where it may (root with apt), otherwise says what to
# install. Nothing is started.
set -eu
. "$(dirname "$0")/find_or_install.sh"

find_bin() {
    on_path=$(command -v pg_ctl || true)
    for folder in "${on_path:+$(dirname "$(readlink -f "$on_path")")}" /usr/lib/postgresql/*/bin; do
        if [ -n "$folder" ] && [ -x "$folder/pg_ctl" ] && [ -x "$folder/initdb" ]; then
            echo "$folder"
            return 0
        fi
    done
    return 1
}

install_postgres() {
    echo "No PostgreSQL found: installing postgresql" >&2
    # Only the programs: Debian would make a cluster of its own, and start it.
    mkdir -p /etc/postgresql-common
    [ -e /etc/postgresql-common/createcluster.conf ] || echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.conf
    install_packages postgresql
}

find_or_install find_bin install_postgres \
    "The tests on PostgreSQL need its programs (Debian and Ubuntu: apt-get install postgresql)."
