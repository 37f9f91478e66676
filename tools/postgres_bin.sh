#!/bin/sh
# Prints the folder of PostgreSQL's programs; its only output on stdout.
# Looks at the path and at Debian's place. Finds none: installs them where it may (root with apt), otherwise says what to
# install. Nothing is started.
set -eu

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
    export DEBIAN_FRONTEND=noninteractive
    # Only the programs: Debian would make a cluster of its own, and start it.
    mkdir -p /etc/postgresql-common
    [ -e /etc/postgresql-common/createcluster.conf ] || echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.conf
    apt-get update -qq >&2 && apt-get install -y -qq --no-install-recommends postgresql >&2
}

if find_bin; then
    exit 0
fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null && install_postgres && find_bin; then
    exit 0
fi
echo "The tests on PostgreSQL need its programs (Debian and Ubuntu: apt-get install postgresql)." >&2
exit 1
