# SPDX-License-Identifier: MIT
#
# od: one static file. `make help` lists the targets.
#
# Sources are found by wildcard: core/ROOM/**.c become libcore.a, applets/*.c the
# program. Everything made lies in out/ARCH-MODE/, third-party code outside the
# clone (build/deps.mk). To set: TARGET, MODE, CC, OD_CACHE, PREFIX, DESTDIR.

VERSION := 0.1.0

MAKEFLAGS += --no-builtin-rules
ifeq ($(filter -j% j%,$(MAKEFLAGS)),)
  MAKEFLAGS += -j$(shell nproc 2>/dev/null || echo 2)
endif
.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDARY:
.DEFAULT_GOAL := all

#: make            the program: out/ARCH-release/od
#: make run        build it, and start a server in the foreground
#: make quick      build and test, in some three minutes
#: make test       every test there is; make check: only the gates
#: make test-images   images by conditions by ways in (FULL=1: all of them)
#: make test-fleet    build/deploy in Docker, a Swarm, and a Kubernetes that is built first
#: make dev        another build, for work on it: glibc, sanitizers, -Werror
#: make fuzz       FUZZ_SECONDS (10) for each parser
#: make corpus DIR=FOLDER   each file there through its parsers, with sanitizers
#: make mutate     MUTANTS (60) mistakes in each of four rooms, and which the tests notice
#: make audit    each dependency: its version, the newest there is, known advisories
#: make tls-scan   testssl.sh's view of our TLS, in two minutes
#: make bench      the figures
#: make soak       1,000 kills and 100 upgrades under load
#: make install    into PREFIX (/usr/local), below DESTDIR; uninstall
#: make dist       what a release has, in out/dist: each processor's, sums, licences
#: make size       what the file is made of
#: make clean      removes out/, and with it the packages that `make run` kept;
#:                 third-party code stays in the cache
#:
#: TARGET=aarch64-linux-gnu builds for that processor, OD_DEPS_DIR=FOLDER
#: names one with the archives of build/deps.lock, OD_CACHE the cache's place.

HOST_ARCH := $(shell uname -m)
TARGET ?= $(HOST_ARCH)-linux-gnu
ARCH := $(firstword $(subst -, ,$(TARGET)))
MODE ?= release
O := out/$(ARCH)-$(MODE)
PREFIX ?= /usr/local

ifeq ($(MODE),fuzz)
  CC := clang
  AR := ar
else ifeq ($(ARCH),$(HOST_ARCH))
  ifeq ($(origin CC),default)
    CC := gcc
  endif
  ifeq ($(origin AR),default)
    AR := ar
  endif
  STRIP ?= strip
else
  CC := $(TARGET)-gcc
  AR := $(TARGET)-ar
  STRIP := $(TARGET)-strip
endif

# Where ccache is installed, objects come from it, also those of another clone.
CCACHE ?= $(shell command -v ccache)
export CCACHE_BASEDIR := $(CURDIR)

# Goals that compile nothing need no compiler, and do not ask about one.
ifneq ($(filter-out audit clean help uninstall,$(or $(MAKECMDGOALS),all)),)
  ifeq ($(shell build/tools.sh build >&2 && echo ok),)
    $(error the tools above are needed)
  endif
  CACHE := $(shell OD_CACHE='$(OD_CACHE)' build/cache-dir.sh)
  CC_ID := $(shell $(CC) --version | head -n 1)
  include build/flags.mk
  include build/deps.mk
  # Rewritten only when it changes, so that other flags rebuild everything.
  $(shell mkdir -p $(O) && echo '$(CC_ID) $(CPPFLAGS) $(DEPS_CPPFLAGS) $(CFLAGS) $(LDFLAGS) $(FAST)' | \
      build/if-changed.sh $(O)/flags)
endif

CORE := $(sort $(wildcard core/*/*.c core/*/*/*.c core/*/*/*/*.c))
APPLETS := $(sort $(wildcard applets/*.c))
UNIT := $(sort $(wildcard tests/unit/*/t_*.c tests/unit/*/*/t_*.c tests/unit/*/*/*/t_*.c tests/unit/t_*.c))
FUZZ := $(sort $(wildcard tests/fuzz/fuzz_*.c))
objects = $(patsubst %.c,$(O)/obj/%.o,$1)
PROGRAM := $(call objects,$(APPLETS)) $(O)/obj/build_info.o
UNIT_BIN := $(addprefix $(O)/unit/,$(notdir $(basename $(UNIT))))
FUZZ_BIN := $(patsubst tests/fuzz/%.c,$(O)/fuzz/%,$(FUZZ))

.PHONY: all dev
all: $(O)/od

dev:
	@$(MAKE) MODE=dev all

$(O)/od: $(O)/od.debug
	@echo "  STRIP  $@"
	@$(if $(filter release,$(MODE)),$(STRIP) -s -o $@ $<,ln -f $< $@)

# The functions that run at the start stand together, so that few pages are mapped
# (build/first.py).
FIRST := $(if $(filter x86_64-release,$(ARCH)-$(MODE)),build/first.ld)
$(O)/od.debug: $(PROGRAM) $(O)/libcore.a $(FIRST)
	@echo "  LINK   $@"
	@$(CC) $(CFLAGS) $(LDFLAGS) $(FIRST:%=-Wl,-T,%) -Wl,-Map=$(O)/od.map -o $@ $(filter-out %.ld,$^) $(DEPS_LIBS)

$(O)/libcore.a: $(call objects,$(CORE))
	@rm -f $@
	@$(AR) qcsD --thin $@ $^

# Scripts and long texts, each an array of its own: that of core/setup/sh/X.sh is X_sh, in
# "setup/sh/X.sh.h", and X_sh_gz in "setup/sh/X.sh.gz.h" if compressed (build/embed.sh).
GZIPPED := $(wildcard core/kernel/host/python/*.py core/shell/sh/session.* core/front/client/*.py \
    core/front/client/*.ts core/front/interpreter/python/*.py core/skill/python/agentskills.py) \
    $(filter-out %_bootstrap.txt,$(wildcard applets/*.txt))
# The live page: its script is one file, made of those in its folder. Any order works; this one
# is the smallest when compressed.
PAGE_ORDER := $(patsubst %,core/front/live_page/%.js,changes util files notebook control ports timeline \
    header app follow terminal stream screen terminal_player)
PAGE_JS := $(PAGE_ORDER) $(filter-out core/front/live_page/form.js $(PAGE_ORDER),\
    $(sort $(wildcard core/front/live_page/*.js)))
PAGE := $(O)/gen/front/live_page/app.js.gz.h $(O)/gen/front/live_page/form.js.gz.h \
    $(O)/gen/front/live_page/page.css.gz.h
TEXTS := $(filter-out $(GZIPPED) $(PAGE_JS) core/front/live_page/form.js,$(sort $(wildcard $(foreach x,js sh bash html py txt,\
    core/*/*.$x core/*/*/*.$x core/*/*/*/*.$x applets/*.$x))))
EMBEDDED := $(patsubst core/%,$(O)/gen/%.h,$(TEXTS:applets/%=core/%)) \
    $(patsubst core/%,$(O)/gen/%.gz.h,$(GZIPPED:applets/%=core/%)) $(PAGE)

define embed
	@mkdir -p $(@D)
	@build/embed.sh $1 | build/if-changed.sh $@ && touch $@
endef
$(O)/gen/front/live_page/app.js: $(PAGE_JS)
	@mkdir -p $(@D)
	@cat $(PAGE_JS) >$@
$(O)/gen/front/live_page/app.js.gz.h: $(O)/gen/front/live_page/app.js build/embed.sh
	$(call embed,$< gz)
$(O)/gen/%.gz.h: core/% build/embed.sh
	$(call embed,$< gz)
$(O)/gen/%.gz.h: applets/% build/embed.sh
	$(call embed,$< gz)
$(O)/gen/%.h: core/% build/embed.sh
	$(call embed,$<)
$(O)/gen/%.h: applets/% build/embed.sh
	$(call embed,$<)

# Generated headers are made before the first object; which objects use them is in the .d files.
$(O)/obj/%.o: %.c $(O)/flags | $(EMBEDDED) $(O)/gen/licences.h $(DEPS_READY)
	@mkdir -p $(@D)
	@echo "  CC     $<"
	@$(CCACHE) $(CC) $(CPPFLAGS) $(DEPS_CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# Tables that few programs read, compressed: X_tables.c has constants only.
$(O)/obj/%_tables.o: %_tables.c build/pack-tables.sh $(O)/flags | $(EMBEDDED) $(DEPS_READY)
	@mkdir -p $(@D) $(dir $(O)/gen/$*)
	@echo "  PACK   $<"
	@CC='$(CC)' AR='$(AR)' CFLAGS='$(CFLAGS)' DEP_CPP='$(CPPFLAGS) -MMD -MP -MF $(@:.o=.d) -MT $@' \
	    build/pack-tables.sh $(notdir $*) $(O)/gen/$*_tables.c $<
	@$(CC) $(CFLAGS) -c -o $@ $(O)/gen/$*_tables.c

# The text of `od --version -v`: the only object that a new commit compiles.
$(O)/obj/build_info.o: $(O)/gen/build_info.c applets/version.h $(O)/flags
	@mkdir -p $(@D)
	@echo "  CC     $<"
	@$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

$(O)/gen/build_info.c: FORCE | $(DEPS_READY)
	@mkdir -p $(@D)
	@build/build-info.sh '$(VERSION)' '$(TARGET)' '$(MODE)' '$(CC_ID)' \
	    '$(FLAGS_SHOWN)' $(foreach d,$(LIBC) $(DEPS),$d=$($d)) | build/if-changed.sh $@

# The licences of all that is linked, compressed, for `od --licenses`.
$(O)/gen/licences.h: build/licences.sh $(O)/flags | $(DEPS_READY)
	@mkdir -p $(@D)
	@build/licences.sh $(foreach d,$(LIBC) $(DEPS),$d=$($d)) | build/if-changed.sh $@ && touch $@

# Test programs are built in every mode; dev has the sanitizers. Without
# libFuzzer, which only MODE=fuzz has, a target gets a main that runs the corpus.
.PHONY: unit fuzz-targets
unit: $(UNIT_BIN)
fuzz-targets: $(FUZZ_BIN)

# tests/unit/ROOM/t_x.c is the program unit/t_x.
$(foreach t,$(UNIT),$(eval $(O)/unit/$(notdir $(basename $t)): $(call objects,$t)))
$(UNIT_BIN): $(O)/libcore.a
	@mkdir -p $(@D)
	@echo "  LINK   $@"
	@$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(DEPS_LIBS)

FUZZ_MAIN := $(if $(filter fuzz,$(MODE)),,$(call objects,tests/lib/fuzz_main.c))
$(O)/fuzz/%: $(O)/obj/tests/fuzz/%.o $(FUZZ_MAIN) $(O)/libcore.a
	@mkdir -p $(@D)
	@echo "  LINK   $@"
	@$(CC) $(CFLAGS) $(LDFLAGS) $(FUZZ_LINK) -o $@ $^ $(DEPS_LIBS)

# Servers and clients that tests use: tests/lib/NAME.c.
TEST_BIN := $(addprefix $(O)/lib/,action_verdicts httpd_echo suite_reader tls_peer wire ws_echo)
.PHONY: test-programs
test-programs: $(TEST_BIN) $(O)/lib/od-toy $(O)/lib/od-mcp-fixture

# The program with one more front-end.
$(O)/lib/od-toy: $(call objects,tests/lib/toy_front.c) $(PROGRAM) $(O)/libcore.a
	@mkdir -p $(@D)
	@echo "  LINK   $@"
	@$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(DEPS_LIBS)

# The program with the tools that suites of MCP call.
$(O)/lib/od-mcp-fixture: $(call objects,tests/lib/mcp_fixture.c) $(PROGRAM) $(O)/libcore.a
	@mkdir -p $(@D)
	@echo "  LINK   $@"
	@$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(DEPS_LIBS)

$(O)/lib/%: $(O)/obj/tests/lib/%.o $(O)/libcore.a
	@mkdir -p $(@D)
	@echo "  LINK   $@"
	@$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(DEPS_LIBS)

# The program, linked so that its allocations can be made to fail (tests/fault). The code
# that makes them fail needs the kernel's headers, so it uses the machine's libc.
$(O)/lib/fault: tests/lib/fault.c tests/lib/fault.h
	@mkdir -p $(@D)
	@echo "  LINK   $@"
	@$(CC) -std=c11 -O2 -Wall -Wextra -o $@ $<

FAULT_WRAP := $(foreach f,malloc calloc realloc,-Wl,--wrap=$f)
$(O)/lib/od-fault: $(call objects,tests/lib/fault_alloc.c) $(PROGRAM) $(O)/libcore.a
	@mkdir -p $(@D)
	@echo "  LINK   $@"
	@$(CC) $(CFLAGS) $(LDFLAGS) $(FAULT_WRAP) -o $@ $^ $(DEPS_LIBS)

# The manual and completion, from the usage texts the applets print.
.PHONY: docs
docs: $(O)/docs/made
$(O)/docs/made: $(O)/od build/man.sh build/completion.sh
	@rm -rf $(@D) && mkdir -p $(@D)
	@build/man.sh $(O)/od $(VERSION) $(@D)/man
	@build/completion.sh $(O)/od $(@D)/completion
	@touch $@

.PHONY: run quick test check check-layers bench soak fuzz corpus mutate tls-scan audit
.PHONY: test-images test-fleet matrix-readme
run: all
	@mkdir -p out/cache && exec $(O)/od serve --cache-dir out/cache

quick test:
	@tests/run.sh $(subst test,all,$@)

test-images: all
	@tests/run.sh images; rc=$$?; tests/images/table.py out/test/images; exit $$rc

test-fleet: all
	@tests/run.sh fleet

# Writes the results of the last test-images into tests/images/README.md.
matrix-readme:
	@tests/images/table.py out/test/images tests/images/README.md

check: all check-layers
	@build/check-elf.sh $(O)/od $(O)/od.debug
	@build/size.sh $(O) check
	@build/check-style.sh
	@build/check-repro.sh

check-layers: $(EMBEDDED) $(O)/gen/licences.h
	@CC='$(CC)' CFLAGS='$(CPPFLAGS) $(DEPS_CPPFLAGS) $(CFLAGS) -Werror' build/check-layers.sh

bench: all
	@OD='$(CURDIR)/$(O)/od' tests/bench/run.sh

soak: all
	@OD='$(CURDIR)/$(O)/od' tests/compat/events-kills.test 1000 100

fuzz:
	@tests/run.sh fuzz

corpus:
	@$(MAKE) --no-print-directory MODE=dev fuzz-targets
	@tests/corpus.sh '$(DIR)'

mutate:
	@env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS nice tests/mutate.py

audit:
	@build/audit.sh

tls-scan: all
	@tests/tls-scan.sh

# Docs come from running the file, so a file for another processor gets none here.
.PHONY: install uninstall dist dist-one size clean help
install: all $(if $(filter $(HOST_ARCH),$(ARCH)),docs)
	@OD_BUILD='$(O)' DESTDIR='$(DESTDIR)' ./install.sh --prefix '$(PREFIX)'

uninstall:
	@DESTDIR='$(DESTDIR)' ./install.sh --prefix '$(PREFIX)' --uninstall

# Of each processor that there is a compiler for; this one's first: it has the docs.
DIST_TARGETS ?= $(TARGET) $(filter-out $(TARGET),x86_64-linux-gnu aarch64-linux-gnu \
    arm-linux-gnueabihf riscv64-linux-gnu)
dist: all docs
	@rm -rf out/dist
	@build/tools.sh cross >&2 || :
	@for t in $(DIST_TARGETS); do \
	    command -v $$t-gcc >/dev/null || { echo "dist: no $$t-gcc: without it" >&2; continue; }; \
	    $(MAKE) --no-print-directory TARGET=$$t dist-one || exit; \
	done
	@cat out/dist/SHA256SUMS

dist-one: all
	@build/dist.sh $(O) out/$(HOST_ARCH)-release/docs $(VERSION) $(ARCH) \
	    $(foreach d,$(LIBC) $(DEPS),$d=$($d))

# The size of the file by room, and each room's budget (build/sizes).
size: all
	@build/size.sh $(O)

clean:
	rm -rf out

help:
	@sed -n 's|^#: \{0,1\}||p' Makefile

-include $(patsubst %.o,%.d,$(call objects,$(CORE) $(APPLETS) $(UNIT) $(FUZZ)))
-include $(TEST_BIN:$(O)/lib/%=$(O)/obj/tests/lib/%.d) $(O)/obj/tests/lib/toy_front.d $(O)/obj/tests/lib/mcp_fixture.d

FORCE:
.PHONY: FORCE
