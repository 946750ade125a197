# SPDX-License-Identifier: GPL-2.0
# The front door. The work is done by the scripts; a variable given here
# (BASE= ARCH= SMP= ...) reaches them through the environment.

export BASE ARCH SMP CPU MACHINE APPEND KSRC REF OUT JOBS DISCARD TIMEOUT

S := ./scripts

.PHONY: help deps tree refresh run check check-patches check-long mutants bench send-preview mbox dist clean distclean

help:		## this list
	@awk -F ':.*##' '/^[a-z-]+:.*##/ { sub(/^[ \t]+/, "", $$2); printf "%-14s %s\n", $$1, $$2 }' Makefile
	@sed -n 's/^#help *//p' Makefile

run:		## from nothing to a verdict: base, series, kernel, selftests, QEMU
	@$(S)/deps.sh base lab
	@$(S)/run.sh

check:		## every test of the project that fits in about an hour; ends in one line of counts
	@$(S)/deps.sh base lab check send bench
	@$(S)/check.sh

check-patches:	## what maintainers' bots do, and more of it than make check: a table ends it
	@$(S)/deps.sh base lab check
	@IPI_ALL_CONFIGS=1 $(S)/check.sh lint checkpatch refresh docs patches

check-long:	## make check, and what takes longer: all mutants, more boots
	@$(S)/deps.sh base lab check long send bench
	@$(S)/check.sh --long

mutants:	## small wrong changes that some test must catch; MUTANTS="name ..." for some
	@$(S)/deps.sh base lab check send
	@$(S)/mutants.sh $(MUTANTS)

bench:		## what the behaviours cost and save, as a page with plots; half an hour and more
	@$(S)/deps.sh base lab bench
	@$(S)/bench.sh

tree:		## lay out the base with the series on it, a git tree in build/
	@$(S)/deps.sh base
	@$(S)/tree.sh

refresh:	## write the commits of that tree back to patches/
	@$(S)/deps.sh base
	@$(S)/refresh.sh

send-preview:	## what b4 would send, to a folder, and taken back from there; TOPIC=<topic>
	@$(S)/deps.sh base send
	@$(S)/send.sh

mbox:		## mailboxes for git am, of the series and of each topic, with checksums
	@$(S)/deps.sh base
	@$(S)/dist.sh mbox

dist:		## the same and a tarball of what is committed, always the same bytes
	@$(S)/deps.sh base
	@$(S)/dist.sh release

deps:		## install the packages that all of this needs
	@$(S)/deps.sh base lab check send bench

clean:		## remove build/ (work in its trees that is not in patches/ keeps it)
	@$(S)/clean.sh

distclean:	## clean, and remove downloads and ccache, which all clones share
	@$(S)/clean.sh --cache

#help
#help Variables: BASE=mainline, ARCH=arm64 (or arm, x86_64, i386), SMP=64, MACHINE=virt or
#help virt-2.6 (8 CPUs a cluster), CPU=, APPEND="kernel command line", KSRC=<git tree or
#help tarball> with REF=<commit> for your own source, OUT=<folder> for build/, JOBS=,
#help TIMEOUT=<seconds>, TOPIC=<topic> (send-preview), MUTANTS="name ...", DISCARD=1 (tree,
#help clean: throw away work in the tree that is not in patches/)
