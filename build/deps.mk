# SPDX-License-Identifier: MIT
#
# The dependencies: each is a line in build/deps.lock, a name in DEPS, and what
# to compile. They are built once for each machine, outside the clone, at
#
#   $(CACHE)/built/TARGET/NAME-KEY
#
# where KEY is a hash of everything that could change the result: the lock
# line, the recipe, the flags, the compiler. So a change makes a new folder and never
# reuses a wrong one, and a second clone finds all of it there.

DEPS := $(if $(filter x86_64,$(ARCH)),bearssl) ca-certificates charsets cjson hiredis libvterm mbedtls pcre2 xterm zlib

musl.src := musl

# AES-GCM for core/net/tls_gcm.c, of which the files with the processor's instructions choose
# these themselves, by attributes.
bearssl.src := $(patsubst %,src/%.c,codec/dec32le codec/enc32le hash/ghash_ctmul64 \
    hash/ghash_pclmul symcipher/aes_ct64 symcipher/aes_ct64_ctr symcipher/aes_ct64_enc \
    symcipher/aes_x86ni symcipher/aes_x86ni_ctr)
bearssl.inc := inc/bearssl_block.h inc/bearssl_hash.h
bearssl.cpp := -O2 -Iinc -Isrc

# Not code: Mozilla's list of authorities, in our own form.
ca-certificates.own := build/ca-bundle.sh ca-bundle.sh
ca-certificates.make := sh ca-bundle.sh
ca-certificates.src := ca_bundle.c
ca-certificates.inc := ca_bundle.h

# Not code either: musl's tables of East Asian character sets, of the same archive.
charsets.own := build/charset-tables.sh charset-tables.sh
charsets.make := sh charset-tables.sh
charsets.src := charsets.c
charsets.inc := charsets.h

cjson.src := cJSON.c
cjson.inc := cJSON.h
cjson.cpp := -O2

# Only the reader of replies and its strings: sockets, TLS and the loop are ours. It adds
# to lengths that the peer sends: -fwrapv defines what comes of the largest one.
hiredis.src := alloc.c read.c sds.c
hiredis.inc := read.h
hiredis.cpp := -fwrapv
hiredis.ren := COPYING LICENSE

libvterm.src := src/*.c
libvterm.inc := include/*.h
libvterm.cpp := -Iinclude -Isrc
# What each byte of a screen goes through.
libvterm.only := $(patsubst %,src/%.c=-O2,encoding parser screen state unicode)

EVEREST := 3rdparty/everest
mbedtls.src := library/*.c \
    $(patsubst %,$(EVEREST)/library/%.c,everest x25519 Hacl_Curve25519_joined)
mbedtls.inc := include/mbedtls include/psa $(EVEREST)/include/everest
mbedtls.cpp := -Iinclude -Ilibrary \
    $(patsubst %,-I$(EVEREST)/include%,/ /everest /everest/kremlib)
mbedtls.own := build/mbedtls_config.h include/mbedtls/mbedtls_config.h \
    build/mbedtls_gcm.h include/mbedtls/gcm_alt.h build/pack-tables.sh pack-tables.sh \
    build/mbedtls-errors.sh mbedtls-errors.sh
mbedtls.make := sh mbedtls-errors.sh

# The arithmetic and the ciphers: a handshake, a download.
mbedtls.only := $(patsubst %,library/%.c=-O2,aes aesni bignum* chacha20 ctr_drbg ecp* gcm \
    poly1305 sha256 sha512) $(EVEREST)/*=-O2

# With these options the library takes its intrinsics instead of its assembly. It calls them
# only if the processor has the instructions for AES (CPUID); every such processor has SSSE3,
# too, with which gcc reverses the bytes of a block by one instruction. aes.c must know: the
# intrinsics need the keys' place aligned, which it does for them. It gets no instruction that
# gcc would take by itself.
ifeq ($(ARCH),x86_64)
  mbedtls.only += $(patsubst %,library/aesni.c=-m%,aes pclmul ssse3) \
      $(patsubst %,library/aes.c=-m%,aes pclmul)
endif

# Only matching: nothing that substitutes, serialises or converts. Optimised for size:
# most of it is the compiler of patterns. Its largest tables are compressed.
pcre2.src := $(patsubst %,src/pcre2_%.c,auto_possess chkdint compile* context extuni \
    find_bracket maketables match match_data newline ord2utf pattern_info script_run \
    string_utils study substring packed valid_utf xclass)
pcre2.inc := src/pcre2.h
pcre2.cpp := -DHAVE_CONFIG_H -Isrc
pcre2.make := sh pack-tables.sh pcre2 src/pcre2_packed.c \
    $(patsubst %,src/pcre2_%.c,chartables sentences tables ucd)
pcre2.own := build/pcre2_config.h src/config.h build/pack-tables.sh pack-tables.sh \
    build/pcre2_sentences.c src/pcre2_sentences.c
pcre2.ren := src/pcre2.h.generic src/pcre2.h src/pcre2_chartables.c.dist src/pcre2_chartables.c

# Not code of ours to run: the terminal of the live page, as its package has it.
xterm.own := build/xterm.sh xterm.sh
xterm.make := sh xterm.sh
xterm.src := xterm_files.c
xterm.inc := xterm_files.h

# Compression in memory: the part that reads and writes .gz files is left out, and
# crc32.c, in place of which core/archive/zip_crc.c is called.
zlib.src := adler32.c deflate.c inffast.c inflate.c inftrees.c trees.c zutil.c
zlib.inc := zlib.h zconf.h
zlib.cpp := -O2

# $(call dep_key,NAME,FLAGS)
dep_key = $(shell { awk '$$1 == "$1"' build/deps.lock; \
    cat build/build-dep.sh build/specs.in $(wildcard $($1.own)); \
    echo '$($1.src) $($1.inc) $($1.cpp) $($1.only) $($1.make) $($1.ren) $2 $(CC_ID)'; } | sha256sum | cut -c 1-16)

# $(call dep_rule,NAME,FLAGS,MADE_AFTER): $(NAME) is the folder.
define dep_rule
$1 := $(CACHE)/built/$(TARGET)/$1-$(call dep_key,$1,$2)
$$($1)/version: | $3
	@echo "  DEP    $1"
	@CC='$(CC)' AR='$(AR)' TARGET='$(TARGET)' CFLAGS='$2' DEP_SRC='$($1.src)' \
	    DEP_INC='$($1.inc)' DEP_CPP='$($1.cpp)' DEP_OWN='$($1.own)' \
	    DEP_ONLY='$($1.only)' DEP_MAKE='$($1.make)' DEP_REN='$($1.ren)' \
	    build/build-dep.sh '$(CACHE)' $1 $$($1)
endef

# The path of musl, and so its key, is part of the flags of all that follows.
ifeq ($(MODE),release)
  $(eval $(call dep_rule,musl,$(MUSL_CFLAGS),))
  GCC_SPECS := -specs=$(musl)/od.specs
  LIBC := musl
endif
LIBC_READY := $(foreach d,$(LIBC),$($d)/version)
$(foreach d,$(DEPS),$(eval $(call dep_rule,$d,$(DEP_CFLAGS),$(LIBC_READY))))

DEPS_READY := $(LIBC_READY) $(foreach d,$(DEPS),$($d)/version)
DEPS_CPPFLAGS := $(foreach d,$(DEPS),-isystem $($d)/include)
# A group: mbedTLS calls core/net/tls_gcm.c.
DEPS_LIBS := -Wl,--start-group $(O)/libcore.a $(foreach d,$(DEPS),$($d)/lib/lib$d.a) \
    -Wl,--end-group -lm
