#!/bin/sh
# SPDX-License-Identifier: MIT
#
# dist.sh BUILD DOCS VERSION ARCH NAME=FOLDER...: what a release has of one
# processor, in out/dist: an archive of the program, its documentation (from DOCS: it
# is the same for all), the installer, what deploys it and everybody's licences; the
# bare program; their sums; and a list of what is in it (SPDX). The same tree gives
# the same bytes.
set -eu

build=$1 docs=$2 version=$3 arch=$4
shift 4
name=od-$version-linux-$arch
dist=out/dist
rm -rf "${dist:?}/$name"
mkdir -p "$dist/$name/licences"

cp "$build/od" "$dist/$name/od"
cp install.sh LICENSE "$dist/$name/"
for file in README.md CHANGELOG.md SECURITY.md; do
    [ ! -f $file ] || cp $file "$dist/$name/"
done
[ ! -d build/deploy ] || cp -R build/deploy "$dist/$name/deploy"
[ ! -d "$docs" ] || cp -R "$docs" "$dist/$name/docs"
{
    echo "SPDXVersion: SPDX-2.3"
    echo "DataLicense: CC0-1.0"
    echo "SPDXID: SPDXRef-DOCUMENT"
    echo "DocumentName: $name"
    echo "DocumentNamespace: https://spdx.org/spdxdocs/$name-$(
        sha256sum "$build/od" | cut -c 1-32)"
    echo "Creator: Tool: build/dist.sh"
    echo "Created: 1970-01-01T00:00:00Z"
    for dep in "od=" "$@"; do
        dir=${dep#*=}
        case $dep in od=) v=$version sum= ;; *)
            v=$(cat "$dir/version")
            cp "$dir/licence" "$dist/$name/licences/${dep%%=*}"
            sum=$(awk -v n="${dep%%=*}" '$1 == n { print $2 }' build/deps.lock |
                tr , '\n' | sed -n "s/^$v://p")
            ;;
        esac
        printf '\nPackageName: %s\n' "${dep%%=*}"
        echo "SPDXID: SPDXRef-${dep%%=*}"
        echo "PackageVersion: $v"
        echo "PackageDownloadLocation: NOASSERTION"
        [ -z "$sum" ] || echo "PackageChecksum: SHA256: $sum"
        echo "PackageLicenseConcluded: $(case ${dep%%=*} in
            mbedtls) echo Apache-2.0 ;; zlib) echo Zlib ;; pcre2) echo BSD-3-Clause ;;
            ca-certificates) echo MPL-2.0 ;; *) echo MIT ;; esac)"
    done
} >"$dist/$name/od.spdx"

tar -C "$dist" --sort=name --mtime=@0 --mode=u+rw,go=rX --owner=0 --group=0 \
    --numeric-owner -cf - "$name" |
    gzip -9n >"$dist/$name.tar.gz"
cp "$build/od" "$dist/$name.bin"
rm -rf "${dist:?}/$name"
cd "$dist"
sha256sum ./*.tar.gz ./*.bin | sed 's# \./# #' >SHA256SUMS
cat SHA256SUMS
