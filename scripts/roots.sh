# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Root directories with a release of Debian each, in the cache. Sourced after lib.sh by scripts that
# run something in one of them.

roots_releases=(bookworm trixie)
roots_tree=/root/reeve # the copy of this tree in a root directory

# root_folder RELEASE
root_folder() {
    echo "$REEVE_CACHE/roots/$1"
}

# mirror: of the packages that this machine installs.
mirror() {
    local uri
    uri=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' \
        "Codename: $(. /etc/os-release && echo "$VERSION_CODENAME")" | head -1)
    echo "${uri:-http://deb.debian.org/debian}"
}

# take_network ROOT: what a machine needs to reach the registries through: proxies and authorities
# of its own.
take_network() {
    apt-config dump --format '%f "%v";%n' Acquire::http Acquire::https \
        >"$1/etc/apt/apt.conf.d/80-as-on-the-host"
    cp -L /etc/resolv.conf /etc/hosts "$1/etc/"
    mkdir -p "$1/usr/local/share/ca-certificates"
    cp -r /usr/local/share/ca-certificates/. "$1/usr/local/share/ca-certificates/"
    if [ -d "$HOME/.m2" ]; then
        mkdir -p "$1/root/.m2"
        find "$HOME/.m2" -maxdepth 1 -name 'settings*.xml' -exec cp {} "$1/root/.m2/" \;
    fi
}

# bootstrap RELEASE FOLDER [ARCH]: where there is none yet.
bootstrap() {
    "$REEVE_ROOT/scripts/setup" root
    if [ ! -d "$2" ]; then
        say "making $2 (takes some minutes)"
        rm -rf "$2.new"
        mkdir -p "$(dirname "$2")"
        debootstrap --variant=minbase ${3:+--arch="$3"} "$1" "$2.new" "$(mirror)" \
            >"$2.log" 2>&1 ||
            die "debootstrap failed, see $2.log"
        mv "$2.new" "$2"
    fi
    take_network "$2"
}

# make_root RELEASE
make_root() {
    bootstrap "$1" "$(root_folder "$1")"
}

# make_bare_root RELEASE [ARCH]: one in which nothing is ever installed; prints where it is. Of an
# architecture that this machine runs, or emulates.
make_bare_root() {
    local folder
    folder=$(root_folder "$1")-bare${2:+-$2}
    bootstrap "$1" "$folder" "${2:-}"
    echo "$folder"
}

# copy_tree RELEASE: the tree as it is, changes that are not committed included. Its files keep
# their times, so that a build is continued; what was deleted goes. Git lists them there as here.
copy_tree() {
    local root
    root=$(root_folder "$1")
    mkdir -p "$root$roots_tree"
    find "$root$roots_tree" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
    (cd "$REEVE_ROOT" && git ls-files -z --cached --others --exclude-standard |
        while IFS= read -r -d '' file; do
            [ ! -e "$file" ] || printf '%s\0' "$file"
        done | tar --null --no-recursion -T - -cf -) | tar -C "$root$roots_tree" -xf -
    git -C "$root$roots_tree" init -q
    git -C "$root$roots_tree" add --all
}

# Variables of this machine that say how to test, and how long registries may take.
pass_on() {
    local name
    passed_on=()
    for name in $(compgen -e | grep -E '^(REEVE_|PIP_DEFAULT_TIMEOUT$|(http|https|no)_proxy$)'); do
        case $name in
        REEVE_ROOT | REEVE_CACHE | REEVE_PYTHON | REEVE_NODE_MODULES) ;;
        *) passed_on+=("$name=${!name}") ;;
        esac
    done
}

# in_root FOLDER COMMAND ...: as root, in namespaces of its own: processes and mounts end with the
# command.
in_root() {
    local folder=$1 passed_on
    shift
    pass_on
    unshare --mount --pid --fork --kill-child bash -euc '
        mount --make-rprivate /
        mount --rbind /dev "$0/dev"
        mount --rbind /sys "$0/sys"
        mount -t proc proc "$0/proc"
        exec chroot "$0" "$@"' "$folder" env -i HOME=/root LANG=C.UTF-8 USER=root TMPDIR=/tmp \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        DEBIAN_FRONTEND=noninteractive "${passed_on[@]}" "$@"
}

# in_tree_of RELEASE COMMAND ...: in a copy of this tree in the release's root directory, which has
# what scripts/setup itself runs with; git is for checks that list the tree's files.
in_tree_of() {
    local root release=$1
    shift
    case " ${roots_releases[*]} " in
    *" $release "*) ;;
    *) die "no release '$release': ${roots_releases[*]}" ;;
    esac
    [ "$(id -u)" = 0 ] || die "needs root rights: run it with sudo"
    make_root "$release"
    copy_tree "$release"
    root=$(root_folder "$release")
    in_root "$root" sh -c 'command -v git || { apt-get update -q && apt-get install -y -q \
        --no-install-recommends ca-certificates git; }' >>"$root.log" 2>&1 ||
        die "cannot install packages in $root, see $root.log"
    in_root "$root" env -C "$roots_tree" "$@"
}
