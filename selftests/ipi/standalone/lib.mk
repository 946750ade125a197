# SPDX-License-Identifier: GPL-2.0
# What this directory needs of ../lib.mk, for builds without a kernel tree.

CC := $(CROSS_COMPILE)gcc
CFLAGS += -D_GNU_SOURCE= -Istandalone $(USERCFLAGS)
LDFLAGS += $(USERLDFLAGS)
OUTPUT ?= .
COLLECTION ?= ipi
PROGS := $(TEST_GEN_PROGS)
TEST_GEN_PROGS := $(PROGS:%=$(OUTPUT)/%)
TEST_GEN_PROGS_EXTENDED := $(TEST_GEN_PROGS_EXTENDED:%=$(OUTPUT)/%)

all: $(TEST_GEN_PROGS) $(TEST_GEN_PROGS_EXTENDED) modules

modules:
	+$(MAKE) -C $(TEST_GEN_MODS_DIR)

$(OUTPUT)/%: %.c $(LOCAL_HDRS) standalone/kselftest.h
	@mkdir -p '$(OUTPUT)'
	$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $(filter %.c,$^) $(LDLIBS) -o $@

run_tests: all
	@cd '$(OUTPUT)' && for test in $(PROGS); do \
		echo "# selftests: ipi: $$test"; ./$$test; echo "# exit $$?"; \
	done

install: all
	$(if $(INSTALL_PATH),,$(error Error: set INSTALL_PATH to use install))
	mkdir -p '$(INSTALL_PATH)/$(TEST_GEN_MODS_DIR)'
	cp $(TEST_GEN_PROGS) $(TEST_GEN_PROGS_EXTENDED) config settings '$(INSTALL_PATH)'
	$(if $(wildcard $(TEST_GEN_MODS_DIR)/*.ko),\
		cp $(wildcard $(TEST_GEN_MODS_DIR)/*.ko) '$(INSTALL_PATH)/$(TEST_GEN_MODS_DIR)')

emit_tests:
	@for test in $(PROGS); do echo "$(COLLECTION):$$test"; done

clean:
	+$(MAKE) -C $(TEST_GEN_MODS_DIR) clean
	rm -f $(TEST_GEN_PROGS) $(TEST_GEN_PROGS_EXTENDED)

.PHONY: all modules run_tests install emit_tests clean
