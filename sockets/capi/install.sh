#!/bin/sh
# Installs libtresse: shared and static library, header, pkg-config files. As usual, PREFIX (/usr/local)
# is where they will be used, LIBDIR (PREFIX/lib) where libraries go, and DESTDIR is put before both to
# stage a package. BUILD names a folder with libraries that are built already (target/debug).
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
prefix=${PREFIX:-/usr/local}
case $prefix in
/*) ;;
*) prefix=$PWD/$prefix ;;
esac
libdir=${LIBDIR:-$prefix/lib}
destination=${DESTDIR:-}
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$here/../../Cargo.toml" | head -n 1)
if [ -z "${BUILD:-}" ]; then
    if ! command -v cargo >/dev/null; then
        # As under sudo, which does not know where rustup has put it.
        echo "install.sh: cargo is not found here; build first, then install what was built:" >&2
        echo "  cargo build --release -p tresse-capi" >&2
        echo "  sudo BUILD=target/release $0" >&2
        exit 2
    fi
    (cd "$here" && cargo build --release -p tresse-capi)
    BUILD=${CARGO_TARGET_DIR:-$here/../../target}/release
fi
# What Rust's standard library needs when it is linked statically.
private='-lgcc_s -lutil -lrt -lpthread -lm -ldl -lc'

mkdir -p "$destination$libdir/pkgconfig" "$destination$prefix/include/tresse"
install -m 755 "$BUILD/libtresse.so" "$destination$libdir/libtresse.so.$version"
# The name that programs remember, and the one that they are linked by.
ln -sf "libtresse.so.$version" "$destination$libdir/libtresse.so.0"
ln -sf libtresse.so.0 "$destination$libdir/libtresse.so"
install -m 644 "$BUILD/libtresse.a" "$destination$libdir/libtresse.a"
install -m 644 "$here/include/tresse/sctp.h" "$destination$prefix/include/tresse/sctp.h"

# pkg_config NAME LIBS
pkg_config() {
    sed -e "s|@PREFIX@|$prefix|" -e "s|@LIBDIR@|$libdir|" -e "s|@VERSION@|$version|" \
        -e "s|@LIBS@|$2|" "$here/tresse.pc.in" >"$destination$libdir/pkgconfig/$1.pc"
}
pkg_config tresse '-L${libdir} -ltresse'
pkg_config tresse-static "\${libdir}/libtresse.a $private"

[ -z "$destination" ] || exit 0
# A folder that the system's linker knows is looked through when it is told to.
if [ "$(id -u)" = 0 ]; then
    ldconfig 2>/dev/null || true
fi
case $prefix in
/usr | /usr/local) ;;
*)
    echo "installed in $prefix; programs are built with"
    echo "  export PKG_CONFIG_PATH=$libdir/pkgconfig, and the linker's option -Wl,-rpath,$libdir"
    ;;
esac
