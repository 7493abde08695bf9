# SPDX-License-Identifier: MIT
#
# The programs of this directory, made with the rules and flags of the program
# itself: make -f Makefile -f tests/bench/bench.mk bench-programs

BENCH := $(filter-out tests/bench/common.c,$(sort $(wildcard tests/bench/*.c)))
LIMIT := $(sort $(wildcard tests/bench/limit/*.c))
BENCH_BIN := $(patsubst tests/bench/%.c,$(O)/bench/%,$(BENCH))
LIMIT_BIN := $(patsubst tests/bench/limit/%.c,$(O)/bench/limit/%,$(LIMIT))

.PHONY: bench-programs
bench-programs: $(BENCH_BIN) $(LIMIT_BIN)

# The shorter stem wins, so this one is tried first for limit programs: they
# link nothing of ours.
$(O)/bench/limit/%: $(O)/obj/tests/bench/limit/%.o
	@mkdir -p $(@D)
	@echo "  LINK   $@"
	@$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^

$(O)/bench/%: $(O)/obj/tests/bench/%.o $(O)/obj/tests/bench/common.o $(O)/libcore.a
	@mkdir -p $(@D)
	@echo "  LINK   $@"
	@$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(DEPS_LIBS)

-include $(patsubst %.c,$(O)/obj/%.d,$(BENCH) $(LIMIT) tests/bench/common.c)
