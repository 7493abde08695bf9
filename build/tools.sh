#!/bin/sh
# SPDX-License-Identifier: MIT
#
# tools.sh GROUP...: installs the programs of the groups that this machine does
# not have, with its own package manager. Prints nothing if all are there. As root
# it installs at once; otherwise it shows the command and asks, on the terminal
# (without one, or with OD_TOOLS=no, it only reports what is missing). Exits 1 if
# a program is still missing, unless it is optional: then the tests that need it
# are skipped.
#
# tools.sh have PROGRAM: only checks; a name with @ is a feature that is tried out.
#
# One row per program:  group  program  apt  dnf  apk  pacman  zypper
# "-" means the manager has none; several packages are joined by commas; a
# row with "?" after the group is optional. npm:NAME is a package of npm's registry.
set -eu

table() {
    cat <<'END'
build  gcc                    gcc           gcc            gcc         gcc        gcc
build  make                   make          make           make        make       make
build  ld                     binutils      binutils       binutils    binutils   binutils
build  tar                    tar           tar            tar         tar        tar
build  gzip                   gzip          gzip           gzip        gzip       gzip
build  bzip2                  bzip2         bzip2          bzip2       bzip2      bzip2
build  xz                     xz-utils      xz             xz          xz         xz
build  awk                    mawk          gawk           gawk        gawk       gawk
build  sha256sum              coreutils     coreutils      coreutils   coreutils  coreutils
build? flock                  util-linux    util-linux     flock       util-linux util-linux
build? @npm                   npm           npm            npm         npm        npm
build? @sources               curl          curl           curl        curl       curl
dev    @libc                  libc6-dev     glibc-devel    musl-dev    glibc      glibc-devel
dev    @asan                  gcc           libasan,libubsan gcc       gcc        gcc
test?  ccache                 ccache        ccache         ccache      ccache     ccache
test?  bash                   bash          bash           bash        bash       bash
test?  dash                   dash          dash           dash        dash       dash
test?  ksh93                  ksh93u+m      -              -           -          -
test?  mksh                   mksh          mksh           mksh        -          -
test?  busybox                busybox-static busybox       busybox     busybox    busybox-static
test?  python3                python3       python3        python3     python     python3
test?  perl                   perl          perl           perl        perl       perl
test?  unshare                util-linux    util-linux     util-linux-misc util-linux util-linux
test?  @websockets            python3-websockets python3-websockets py3-websockets python-websockets python3-websockets
test?  @httpx                 python3-httpx python3-httpx  py3-httpx   python-httpx python3-httpx
test?  redis-server           redis-server  redis          redis       redis      redis
test?  nginx                  nginx         nginx          nginx       nginx      nginx
test?  @redis                 python3-redis python3-redis  py3-redis   python-redis python3-redis
test?  @prometheus_client     python3-prometheus-client python3-prometheus_client py3-prometheus-client python-prometheus_client python3-prometheus_client
test?  rg                     ripgrep       ripgrep        ripgrep     ripgrep    ripgrep
test?  curl                   curl          curl           curl        curl       curl
test?  openssl                openssl       openssl        openssl     openssl    openssl
test?  xxd                    xxd           vim-common     xxd         vim        vim
test?  pkill                  procps        procps-ng      procps-ng   procps-ng  procps
test?  vi                     vim-tiny      vim-minimal    vim         vim        vim-small
test?  less                   less          less           less        less       less
test?  top                    procps        procps-ng      procps-ng   procps-ng  procps
test?  node                   nodejs        nodejs         nodejs      nodejs     nodejs
test?  git                    git           git            git         git        git
test?  zip                    zip           zip            zip         zip        zip
test?  unzip                  unzip         unzip          unzip       unzip      unzip
test?  file                   file          file           file        file       file
test?  strace                 strace        strace         strace      strace     strace
test?  sudo                   sudo          sudo           sudo        sudo       sudo
test?  script                 bsdutils      util-linux-script util-linux-misc util-linux util-linux
test?  tmux                   tmux          tmux           tmux        tmux       tmux
test?  asciinema              asciinema     asciinema      asciinema   asciinema  asciinema
test?  @libtmux              python3-libtmux python3-libtmux py3-libtmux python-libtmux python3-libtmux
test?  zsh                    zsh           zsh            zsh         zsh        zsh
test?  fish                   fish          fish           fish        fish       fish
test?  mandoc                 mandoc        mandoc         mandoc      mandoc     mandoc
test?  @yaml                  python3-yaml  python3-pyyaml py3-yaml    python-yaml python3-PyYAML
test?  @jsonschema            python3-jsonschema python3-jsonschema py3-jsonschema python-jsonschema python3-jsonschema
test?  docker-compose         docker-compose docker-compose docker-compose docker-compose docker-compose
test?  systemd-analyze        systemd       systemd        -           systemd    systemd
test?  podman                 podman        podman         podman      podman     podman
test?  runc                   runc          runc           runc        runc       runc
test?  skopeo                 skopeo        skopeo         skopeo      skopeo     skopeo
test?  umoci                  umoci         umoci          umoci       -          umoci
test?  keytool                default-jdk-headless java-latest-openjdk-devel openjdk17 jdk-openjdk java-17-openjdk-devel
test?  chromium-headless-shell chromium-headless-shell chromium-headless chromium chromium chromium
test?  npm                    npm           npm            npm         npm        npm
test?  @playwright-core       npm:playwright-core@1.65.1 npm:playwright-core@1.65.1 npm:playwright-core@1.65.1 npm:playwright-core@1.65.1 npm:playwright-core@1.65.1
test?  @puppeteer-core        npm:puppeteer-core@25.16.0 npm:puppeteer-core@25.16.0 npm:puppeteer-core@25.16.0 npm:puppeteer-core@25.16.0 npm:puppeteer-core@25.16.0
test?  @playwright-mcp        npm:@playwright/mcp@0.0.83 npm:@playwright/mcp@0.0.83 npm:@playwright/mcp@0.0.83 npm:@playwright/mcp@0.0.83 npm:@playwright/mcp@0.0.83
test?  @chrome-devtools-mcp npm:chrome-devtools-mcp@1.11.0 npm:chrome-devtools-mcp@1.11.0 npm:chrome-devtools-mcp@1.11.0 npm:chrome-devtools-mcp@1.11.0 npm:chrome-devtools-mcp@1.11.0
test?  @axe-core npm:axe-core@4.14.1 npm:axe-core@4.14.1 npm:axe-core@4.14.1 npm:axe-core@4.14.1 npm:axe-core@4.14.1
test?  @openapi-schema-validator npm:@seriousme/openapi-schema-validator@2.11.0 npm:@seriousme/openapi-schema-validator@2.11.0 npm:@seriousme/openapi-schema-validator@2.11.0 npm:@seriousme/openapi-schema-validator@2.11.0 npm:@seriousme/openapi-schema-validator@2.11.0
test?  mypy                   mypy          python3-mypy   py3-mypy    mypy       python3-mypy
test?  tsc                    npm:typescript@5.9.3 npm:typescript@5.9.3 npm:typescript@5.9.3 npm:typescript@5.9.3 npm:typescript@5.9.3
test?  openapi-typescript npm:openapi-typescript@7.13.0 npm:openapi-typescript@7.13.0 npm:openapi-typescript@7.13.0 npm:openapi-typescript@7.13.0 npm:openapi-typescript@7.13.0
test?  @openapi-fetch npm:openapi-fetch@0.17.0 npm:openapi-fetch@0.17.0 npm:openapi-fetch@0.17.0 npm:openapi-fetch@0.17.0 npm:openapi-fetch@0.17.0
test?  deno                   npm:deno@2.9.6 npm:deno@2.9.6 npm:deno@2.9.6 npm:deno@2.9.6 npm:deno@2.9.6
test?  eslint                 npm:eslint@9.39.5 npm:eslint@9.39.5 npm:eslint@9.39.5 npm:eslint@9.39.5 npm:eslint@9.39.5
test?  @typescript-eslint npm:typescript-eslint@8.46.0 npm:typescript-eslint@8.46.0 npm:typescript-eslint@8.46.0 npm:typescript-eslint@8.46.0 npm:typescript-eslint@8.46.0
test?  shellcheck             shellcheck    ShellCheck     shellcheck  shellcheck ShellCheck
test?  buildah                buildah       buildah        buildah     buildah    buildah
test?  @jupyter_server        python3-jupyter-server,python3-ipykernel - - - -
kernels? @ipykernel            python3-ipykernel python3-ipykernel py3-ipykernel python-ipykernel python3-ipykernel
kernels? @matplotlib           python3-matplotlib python3-matplotlib py3-matplotlib python-matplotlib python3-matplotlib
kernels? @pandas              python3-pandas python3-pandas py3-pandas python-pandas python3-pandas
kernels? @irkernel             r-cran-irkernel -              -           -          -
kernels? octave                octave        octave         octave      octave     octave
kernels? @octave_kernel        python3-octave-kernel - - - -
fuzz?  clang                  clang         clang          clang       clang      clang
fuzz?  @libfuzzer             -             compiler-rt    compiler-rt compiler-rt clang
scan   testssl                testssl.sh    testssl        testssl.sh  testssl.sh testssl.sh
images? debootstrap           debootstrap   debootstrap    debootstrap debootstrap -
images? runsc                 runsc         -              -           -          -
images? proot                 proot         proot          proot       -          proot
images? nsenter               util-linux    util-linux     util-linux-misc util-linux util-linux
fleet? dockerd                docker.io     moby-engine    docker      docker     docker
fleet? docker                 docker.io     moby-engine    docker-cli  docker     docker
fleet? containerd             containerd    containerd     containerd  containerd containerd
fleet? docker-compose         docker-compose docker-compose docker-compose docker-compose docker-compose
fleet? iptables               iptables      iptables       iptables    iptables   iptables
fleet? ip                     iproute2      iproute        iproute2    iproute2   iproute2
fleet? etcd                   etcd-server   etcd           etcd        etcd       etcd
fleet? kubectl                kubernetes-client kubernetes-client kubectl kubectl kubernetes-client
fleet? @go                    golang-1.19-go golang        go          go         go
fleet? host-local             containernetworking-plugins containernetworking-plugins cni-plugins cni-plugins cni-plugins
fleet? debootstrap            debootstrap    debootstrap    debootstrap debootstrap -
fleet? unshare                util-linux    util-linux     util-linux-misc util-linux util-linux
cross? aarch64-linux-gnu-gcc  gcc-aarch64-linux-gnu gcc-aarch64-linux-gnu - aarch64-linux-gnu-gcc cross-aarch64-gcc
cross? arm-linux-gnueabihf-gcc gcc-arm-linux-gnueabihf gcc-arm-linux-gnu - - -
cross? riscv64-linux-gnu-gcc  gcc-riscv64-linux-gnu gcc-riscv64-linux-gnu - riscv64-linux-gnu-gcc -
cross? s390x-linux-gnu-gcc    gcc-s390x-linux-gnu gcc-s390x-linux-gnu - - -
cross? unshare                util-linux    util-linux     util-linux-misc util-linux util-linux
cross? curl                   curl          curl           curl        curl       curl
cross? qemu-aarch64-static    qemu-user-static qemu-user-static qemu-aarch64 qemu-user-static qemu-linux-user
END
}

say() { echo "tools: $*" >&2; }

# Tries out a feature of the compiler.
compiles() {
    compiler=$1 flags=$2 source=$3
    command -v "$compiler" >/dev/null 2>&1 || return 1
    dir=$(mktemp -d)
    echo "$source" >"$dir/t.c"
    # shellcheck disable=SC2086 # flags are words
    if "$compiler" $flags "$dir/t.c" -o "$dir/t" >/dev/null 2>&1; then there=0; else there=1; fi
    rm -rf "$dir"
    return $there
}

there() {
    case $1 in
    @libc) [ -e /usr/include/stdio.h ] || compiles gcc "" '#include <stdio.h>
int main(void) { return 0; }' ;;
    @asan) compiles gcc -fsanitize=address,undefined 'int main(void) { return 0; }' ;;
    @libfuzzer) compiles clang -fsanitize=fuzzer,address \
        'int LLVMFuzzerTestOneInput(const char *p, long n) { return !p && n; }' ;;
    @httpx | @redis | @libtmux | @prometheus_client | @websockets | @yaml | @jsonschema)
        for python in python3 /usr/bin/python3; do
            "$python" -c "import ${1#@}" 2>/dev/null && return
        done
        return 1
        ;;
    @ipykernel | @jupyter_server | @matplotlib | @octave_kernel | @pandas)
        /usr/bin/python3 -c "import ${1#@}" 2>/dev/null ;;
    @playwright-core) command -v npm >/dev/null 2>&1 &&
        NODE_PATH=$(npm root -g 2>/dev/null) node -e "require('${1#@}')" 2>/dev/null ;;
    @openapi-schema-validator) command -v npm >/dev/null 2>&1 &&
        [ -e "$(npm root -g 2>/dev/null)/@seriousme/${1#@}/index.js" ] ;;
    @playwright-mcp) command -v npm >/dev/null 2>&1 &&
        [ -e "$(npm root -g 2>/dev/null)/@playwright/mcp/cli.js" ] ;;
    @axe-core | @chrome-devtools-mcp | @openapi-fetch | @puppeteer-core | @typescript-eslint) command -v npm >/dev/null 2>&1 &&
        [ -e "$(npm root -g 2>/dev/null)/${1#@}" ] ;;
    @go) command -v go >/dev/null 2>&1 || [ -x /usr/lib/go-1.19/bin/go ] ;;
    host-local) [ -x /usr/lib/cni/host-local ] || [ -x /usr/libexec/cni/host-local ] ||
        [ -x /opt/cni/bin/host-local ] ;;
    @irkernel) [ -e /usr/share/jupyter/kernels/ir/kernel.json ] ;;
    @npm) command -v npm >/dev/null 2>&1 || [ -n "${OD_DEPS_DIR:-}" ] ||
        ls "$(build/cache-dir.sh)"/archives/xterm-* >/dev/null 2>&1 ;;
    @sources) [ -e /usr/share/keyrings/debian-archive-keyring.gpg ] ||
        command -v curl >/dev/null 2>&1 || command -v wget >/dev/null 2>&1 ;;
    *) command -v "$1" >/dev/null 2>&1 || [ -x "/usr/sbin/$1" ] ;;
    esac
}

manager() {
    for m in apt-get dnf apk pacman zypper; do
        command -v "$m" >/dev/null 2>&1 && echo "$m" && return
    done
}

# The name of this row's package here; clang's runtime has clang's version in it.
package() {
    if [ "$1" = @libfuzzer ] && [ "$m" = apt-get ]; then
        v=$(clang --version 2>/dev/null | sed -n 's/.*version \([0-9]*\)\..*/\1/p')
        [ -n "$v" ] || v=$(apt-cache depends clang 2>/dev/null |
            sed -n 's/.*Depends: clang-\([0-9]*\)$/\1/p')
        [ -z "$v" ] || echo "libclang-rt-$v-dev"
        return
    fi
    case $m in
    apt-get) echo "$2" ;; dnf) echo "$3" ;; apk) echo "$4" ;;
    pacman) echo "$5" ;; zypper) echo "$6" ;;
    esac
}

allowed() {
    [ "$(id -u)" = 0 ] && return 0
    if [ "${OD_TOOLS:-}" = no ] || ! command -v sudo >/dev/null 2>&1 ||
        ! (: </dev/tty) 2>/dev/null; then
        say "to be installed as root: $*"
        return 1
    fi
    printf 'tools: needed: sudo %s\nGo ahead? [y/N] ' "$*" >/dev/tty
    read -r answer </dev/tty || return 1
    case $answer in [yY]*) return 0 ;; *) return 1 ;; esac
}

# install PACKAGE...: returns the manager's status.
install() {
    case $m in
    apt-get) set -- apt-get -qq -y --no-install-recommends install "$@" ;;
    dnf) set -- dnf -q -y install "$@" ;;
    apk) set -- apk add -q "$@" ;;
    pacman) set -- pacman -Sy --noconfirm --needed "$@" ;;
    zypper) set -- zypper -q -n install "$@" ;;
    *)
        say "no package manager I know; needed: $*"
        return 1
        ;;
    esac
    allowed "$@" || return 1
    as=
    [ "$(id -u)" = 0 ] || as=sudo
    say "$*"
    export DEBIAN_FRONTEND=noninteractive
    if [ "$m" = apt-get ]; then
        if [ -z "${updated:-}" ]; then
            updated=yes
            $as apt-get -qq update >&2 </dev/null || :
        fi
        $as "$@" >/dev/null </dev/null
    else
        $as "$@" >&2 </dev/null
    fi
}

# missing GROUP...: the rows of the groups whose program is not there.
missing() {
    table | while read -r group program packages; do
        for wanted; do
            [ "${group%\?}" = "$wanted" ] || continue
            there "$program" || echo "$group $program $packages"
        done
    done
}

if [ "${1:-}" = have ]; then
    there "$2"
    exit
fi

rows=$(missing "$@")
[ -n "$rows" ] || exit 0
m=$(manager)

packages='' modules=''
while read -r group program names; do
    # shellcheck disable=SC2086 # the columns
    for p in $(package "$program" $names | tr , ' '); do
        case " $packages $modules - " in
        *" $p "*) ;;
        *" ${p#npm:} "*) ;;
        *) case $p in npm:*) modules="$modules ${p#npm:}" ;; *) packages="$packages $p" ;; esac ;;
        esac
    done
done <<END
$rows
END

if [ -n "$packages" ]; then
    # shellcheck disable=SC2086 # one package a word
    if ! install $packages; then
        # Installing all at once failed, possibly because of one name: one by one.
        [ "$(id -u)" != 0 ] || for p in $packages; do install "$p" || :; done
    fi
fi

# After the packages: npm may be one of them.
if [ -n "$modules" ] && command -v npm >/dev/null 2>&1; then
    # shellcheck disable=SC2086 # one package a word
    set -- npm install -g --ignore-scripts --no-audit --no-fund --loglevel=error $modules
    as=
    [ "$(id -u)" = 0 ] || as=sudo
    if allowed "$@"; then
        say "$*"
        $as "$@" >/dev/null </dev/null || :
    fi
fi

rc=0
while read -r group program _; do
    there "$program" && continue
    case $group in
    *\?) say "going on without $program" ;;
    *)
        say "$program is missing"
        rc=1
        ;;
    esac
done <<END
$rows
END
exit $rc
