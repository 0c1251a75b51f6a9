# SPDX-License-Identifier: GPL-2.0
#
# kvstash: the module, the library, the tools, the tests
#
#   make            all of them; the module for the running kernel
#   make check      boots a kernel and runs the tests there: K=6.1, 6.12, debug,
#                   native, smp; T=REGEX picks tests (see selftests/README.md)
#   make demo       a tour in a virtual machine
#   make replay     replays a request trace: TRACE=FILE POOL_PERCENT=N, and what
#                   tools/replay.sh lists; MEM=6G of memory
#   make hybrid     the same by engines that need a state to resume, too
#   make bench      measures; writes build/bench.json; MEM=6G of memory
#   make torture    the long tests: SECONDS=600 OBSERVATIONS=10000000 K=
#   make lint       sparse, checkpatch, shellcheck, warnings as errors
#   make install    library, headers, tools, manual pages: PREFIX, DESTDIR

K ?= 6.12
T ?=
SECONDS ?= 600
OBSERVATIONS ?= 10000000
POOL_PERCENT ?= 10
MEM ?= 6G
TRACE ?= $(firstword $(wildcard ../shared/traces/conversation.jsonl) \
	 tools/traces/excerpt.jsonl)

# KDIR: the kernel build directory that the module is for. ARCH and BED come
# with it when the tests build for their kernels.
KDIR ?= $(or $(wildcard /lib/modules/$(shell uname -r)/build), \
	$(lastword $(shell ls -d /lib/modules/*/build 2>/dev/null | sort -V)))
BED ?=
PREFIX ?= /usr/local
CC ?= gcc

O := $(abspath build)
kdir := $(strip $(KDIR))
moddir := $(O)/kmod$(if $(BED),-$(BED))

.PHONY: all modules lib tools selftests check demo replay hybrid bench torture \
	lint clean install modules_install FORCE
.DELETE_ON_ERROR:

all: modules lib tools

# The module is built in a tree of links to its sources, one for each kernel:
# objects for several kernels stay apart, and none is among the sources.
modules:
	$(if $(kdir),,$(error no kernel headers found; set KDIR))
	@scripts/link-sources.sh $(moddir)
	$(MAKE) -C $(kdir) M=$(moddir) $(if $(ARCH),ARCH=$(ARCH)) modules

modules_install: modules
	$(MAKE) -C $(kdir) M=$(moddir) $(if $(ARCH),ARCH=$(ARCH)) modules_install

lib:
	$(MAKE) -C libshim O=$(O)/lib all

tools: lib
	$(MAKE) -C tools O=$(O)/tools all

# Test programs: selftests/<topic>/<name>.c -> build/selftests/<topic>/<name>;
# <name>_32.c is for 32 bits, and without libraries.
topics := $(filter-out beds include kmod uml vm, \
	  $(notdir $(patsubst %/,%,$(wildcard selftests/*/))))
sources := $(foreach t,$(topics),$(wildcard selftests/$(t)/*.c))
programs := $(sources:selftests/%.c=$(O)/selftests/%)
test_flags := -std=gnu11 -Wall -Wextra -O2 -g $(WERROR) -pthread \
	      -Iuapi -Ilibshim/include -isystem selftests/include -MMD -MP

selftests: $(programs)

$(filter %_32,$(programs)): $(O)/selftests/%: selftests/%.c
	@mkdir -p $(@D)
	$(CC) -m32 -static $(test_flags) -o $@ $<

$(filter-out %_32,$(programs)): $(O)/selftests/%: selftests/%.c $(O)/lib/libkvstash.a
	@mkdir -p $(@D)
	$(CC) $(test_flags) -o $@ $< $(O)/lib/libkvstash.a

# libshim's own Makefile knows whether there is anything to do
$(O)/lib/libkvstash.a: FORCE
	@$(MAKE) --no-print-directory -C libshim O=$(O)/lib all

-include $(programs:=.d)

# What boots a kernel first gets the packages for it, so that a fresh machine
# needs nothing but a clone and this.
check:
	scripts/install-deps.sh build vm uml
	selftests/run.sh -K $(K) $(if $(T),-T '$(T)')

torture:
	scripts/install-deps.sh build vm uml
	TORTURE_SECONDS=$(SECONDS) TORTURE_OBSERVATIONS=$(OBSERVATIONS) \
		selftests/run.sh -K $(K) -T '/torture'

demo:
	scripts/install-deps.sh build vm
	selftests/run-in.sh -K 6.12 env TRACE=$(abspath $(TRACE)) tools/demo.sh

# What of it is set, here or in the environment: a bed has an environment of its own.
replay_settings := BLOCK_BYTES WORKERS SLOTS ROWS ROW_BYTES REPLAY_ARGS

replay hybrid:
	@scripts/install-deps.sh build uml
	@selftests/run-in.sh -K native -m $(MEM) env ENGINE=$@ TRACE=$(abspath $(TRACE)) \
		POOL_PERCENT=$(POOL_PERCENT) \
		$(foreach v,$(replay_settings),$(if $($v),'$v=$($v)')) tools/replay.sh

bench:
	scripts/install-deps.sh build uml
	selftests/run-in.sh -K native -m $(MEM) -o $(O)/logs/bench tools/bench.sh
	cp $(O)/logs/bench/files1/bench.json $(O)/bench.json

lint:
	scripts/install-deps.sh
	scripts/lint.sh

install: lib tools
	$(MAKE) -C libshim O=$(O)/lib PREFIX=$(PREFIX) DESTDIR=$(DESTDIR) install
	$(MAKE) -C tools O=$(O)/tools PREFIX=$(PREFIX) DESTDIR=$(DESTDIR) install

clean:
	rm -rf build
