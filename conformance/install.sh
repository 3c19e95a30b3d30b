#!/usr/bin/env bash
# The Debian package, as somebody has it who installs it: built, installed into a fresh root that has Debian's
# essential packages and a C compiler, and used as the pages say. Needs root, cargo-deb and mmdebstrap.
#
#     conformance/install.sh                  # with the release build; PROFILE=dist builds as for a release
set -euo pipefail
cd "$(dirname "$0")/.."

scratch=$(mktemp -d)
trap 'rm -rf --one-file-system "$scratch"' EXIT

PROFILE=${PROFILE:-release} packaging/deb
package=$(ls -t "${CARGO_TARGET_DIR:-target}"/debian/tresse_*.deb | head -n 1)
dpkg-deb --info "$package"
dpkg-deb --contents "$package" | awk '{ print $1, $3, $6, $7, $8 }' | tee "$scratch/contents"

# What must be in it, and is not found missing by the pages' blocks.
for path in usr/bin/tresse usr/lib/tresse/libtresse_preload.so usr/lib/[^/]+/libtresse.a usr/lib/[^/]+/libtresse.so.0 \
    usr/include/tresse/sctp.h usr/lib/[^/]+/pkgconfig/tresse.pc usr/share/man/man1/tresse-perf-server.1.gz \
    usr/share/bash-completion/completions/tresse usr/share/zsh/vendor-completions/_tresse \
    usr/share/fish/vendor_completions.d/tresse.fish \
    '(usr/)?lib/systemd/system/tresse-perf.service' usr/share/doc/tresse/copyright; do
    grep -Eq "[ /]$path( |$)" "$scratch/contents" || { echo "missing in the package: $path"; exit 1; }
done
if command -v systemd-analyze >/dev/null; then
    # The program is where the unit has it only after the installation.
    sed "s|^ExecStart=/usr/bin/tresse|ExecStart=/bin/true|" packaging/tresse-perf.service >"$scratch/tresse-perf.service"
    systemd-analyze verify --man=no "$scratch/tresse-perf.service"
fi

# The same Debian as here, with the sources of packages that are used here.
root=$scratch/root
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
mmdebstrap --quiet --variant=apt --include=gcc,libc6-dev,pkg-config,iperf3 "$suite" "$root"
echo "a fresh $suite: $(du -sm "$root" | cut -f 1) MB after $SECONDS s"

# A checkout, of which only what the pages name is there.
checkout=$root/src/tresse
mkdir -p "$checkout/target/debian"
cp "$package" "$checkout/target/debian/"
cp -r examples "$checkout/"
blocks() {
    conformance/blocks.py --root "$root" --in /src/tresse --installed --leave-out packaging/ --leave-out cargo "$@"
}
# It installs the package.
blocks docs/install.md
blocks README.md
dpkg --root="$root" --verify tresse

# Completions as a shell reads them, manual pages as their reader does.
chroot "$root" bash -c 'set -eu
    source /usr/share/bash-completion/completions/tresse
    COMP_WORDS=(tresse la) COMP_CWORD=1
    _tresse tresse la tresse
    [ "${COMPREPLY[*]}" = lab ]
    gzip -dc /usr/share/man/man1/tresse-lab-run.1.gz | grep -q -- "--real-time\|real\\\\-time"'

# Nothing stays behind.
chroot "$root" apt-get -qq purge tresse >/dev/null
left=$(cd "$root" && find usr etc var -name '*tresse*' ! -path 'var/log/*' ! -path 'var/lib/dpkg/*')
[ -z "$left" ] || { echo "left by purge: $left"; exit 1; }
echo "installed, used and purged in $SECONDS s"
