# SPDX-License-Identifier: MIT
#
# Warnings, hardening and modes. In: MODE, ARCH, CC, GCC_SPECS. Out: CFLAGS,
# LDFLAGS, DEP_CFLAGS (third-party code: no warnings), FLAGS_SHOWN (the relevant ones,
# without this machine's paths, for `od --version -v`), FUZZ_LINK.
#
# _FORTIFY_SOURCE is left out: musl's headers have no checked variants, so it
# would be an option that does nothing. The dev build has the sanitizers instead.

WARN := -Wall -Wextra -Wshadow -Wvla -Wwrite-strings -Wstrict-prototypes \
    -Wmissing-prototypes -Wformat=2 -Wimplicit-fallthrough -Wundef \
    -Werror=implicit-function-declaration

COMMON := -std=c11 -D_GNU_SOURCE -fno-common -fno-strict-overflow

HARDEN := -fstack-protector-strong -fstack-clash-protection \
    -ftrivial-auto-var-init=zero
# Indirect branch tracking and shadow stacks are only for a file whose every object has the
# mark for them, and musl's assembly has none: its instructions would never be looked at.
HARDEN_x86_64 := -fcf-protection=none
HARDEN_aarch64 := -mbranch-protection=standard

# Packed relative relocations are known to musl since 1.2.4 (with an older one
# the program dies at start, silently) and to ld for x86 since 2.38.
PACK_x86_64 := -Wl,-z,pack-relative-relocs
# Their linkers would leave some addresses to a lookup by name, which a static program does
# not have: it dies at start, or as it calls what is at such an address.
PACK_riscv64 := -Wl,--version-script=build/local.map
PACK_s390x := $(PACK_riscv64)

SECTIONS := -ffunction-sections -fdata-sections
LINK := -Wl,--gc-sections -Wl,--build-id=none -Wl,-z,relro -Wl,-z,now \
    -Wl,-z,noexecstack -Wl,-z,separate-code

SAN := -fsanitize=address,undefined -fno-sanitize-recover=undefined
FUZZ_LINK :=

# Nothing unwinds a stack at run time; debuggers find .debug_frame in od.debug. The
# tables would be a twelfth of the file.
SMALL := -fno-asynchronous-unwind-tables -fno-unwind-tables

# A release is optimised for size, which saves a sixth of -O2: only files whose loops are hot
# in a row of tests/bench have -O2. An entry is a room, or how names of files in it begin.
# How they were found: tests/bench/README.md.
FAST := $(addprefix action/,actions group line log order) archive/ \
    $(addprefix base/,arena buf copy crc enc hash json map scan str utf8) \
    $(addprefix browser/driver/t,ext ree) cdp/ \
    $(addprefix document/pdf/,content object text) eventlog/ \
    $(addprefix front/events/,flow link) html/ $(addprefix http/,http ws) io/stream \
    $(addprefix kernel/host/,jmsg zmtp) net/tls_gcm search/walk \
    $(addprefix term/,act line picture_do picture_rows row text) $(addprefix text/,automaton diff glob pattern) \
    $(addprefix webpage/web,body text)
# The others have -Oz where the compiler knows it (gcc 12), which saves 33 KB of -Os.
CC_TAKES = $(if $(shell $(CC) $1 -E -x c /dev/null >/dev/null 2>&1 && echo yes),$1,$2)
SMALLEST := $(call CC_TAKES,-Oz,-Os)
OPT = $(if $(filter $(FAST:%=core/%%),$*),-O2,$(SMALLEST))
# Large objects are aligned to 32 bytes by default, which is for vectors. Saves 12 KB.
PACK_DATA_x86_64 := $(call CC_TAKES,-malign-data=abi)

ifeq ($(MODE),release)
  SHOWN = $(OPT) -fPIE $(COMMON) $(HARDEN) $(HARDEN_$(ARCH)) $(SECTIONS) $(SMALL) $(PACK_DATA_$(ARCH))
  CFLAGS = $(GCC_SPECS) $(SHOWN) -g $(WARN)
  LDFLAGS = $(LINK) $(PACK_$(ARCH))
  DEP_CFLAGS = $(GCC_SPECS) $(SHOWN)
  MUSL_CFLAGS := -Os $(HARDEN_$(ARCH)) -fstack-clash-protection
else ifeq ($(MODE),dev)
  SHOWN := -O1 $(COMMON) $(SAN) -DOD_ASSERT
  CFLAGS = $(SHOWN) -g -fno-omit-frame-pointer -U_FORTIFY_SOURCE $(WARN) -Werror
  LDFLAGS = $(SAN)
  DEP_CFLAGS = -O1 -g -fsanitize=address -fno-omit-frame-pointer
else ifeq ($(MODE),fuzz)
  # Every object is instrumented; only the targets have libFuzzer's main.
  SHOWN := -O1 $(COMMON) $(SAN) -DOD_ASSERT
  CFLAGS = $(SHOWN) -g -fno-omit-frame-pointer -fsanitize=fuzzer-no-link
  LDFLAGS = $(SAN)
  FUZZ_LINK := -fsanitize=fuzzer
  DEP_CFLAGS = -O1 -g -fsanitize=address,fuzzer-no-link -fno-omit-frame-pointer
else
  $(error MODE is one of release, dev and fuzz, not "$(MODE)")
endif

CPPFLAGS = -Icore -Iapplets -Itests/lib -I$(O)/gen -ffile-prefix-map=$(CURDIR)=.
FLAGS_SHOWN = $(SHOWN)
