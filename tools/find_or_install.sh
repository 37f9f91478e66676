# For other scripts of this folder, which read it with `.`: what they look for is printed, and nothing else on stdout.

# Installs packages of Debian.
install_packages() {
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq >&2 && apt-get install -y -qq --no-install-recommends "$@" >&2
}

# Ends with what the function $1 finds. Where it finds none, the function $2 installs it if that may be done (root with
# apt); otherwise $3 says what to install.
find_or_install() {
    if "$1"; then
        exit 0
    fi
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null && "$2" && "$1"; then
        exit 0
    fi
    echo "$3" >&2
    exit 1
}
