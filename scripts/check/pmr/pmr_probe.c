// SPDX-License-Identifier: GPL-2.0
/*
 * What a module sees of the synchronisation of ICC_PMR_EL1: the barriers in its
 * own patched code, the instructions that local_irq_restore() takes (with
 * QEMU's -icount shift=0, where the clock counts them), and whether an NMI
 * reaches a CPU that spins with its interrupts masked.
 */
#include <linux/delay.h>
#include <linux/irqflags.h>
#include <linux/kallsyms.h>
#include <linux/module.h>
#include <linux/smp.h>
#include <linux/sysrq.h>
#include <asm/arch_timer.h>
#include <asm/barrier.h>
#include <asm/cpufeature.h>
#include <asm/daifflags.h>
#include <asm/insn.h>

#define ROUNDS	100000

/* One site each. arch_: what lockdep and the tracers add is not of interest */
static noinline void probe_enable(void)
{
	arch_local_irq_enable();
}

static noinline void probe_restore(unsigned long flags)
{
	arch_local_irq_restore(flags);
}

static noinline void probe_daif(void)
{
	local_daif_restore(DAIF_PROCCTX);
}

static noinline void probe_sync(void)
{
	pmr_sync();
}

/* DSB in the whole of a function */
static int barriers(const void *function)
{
	const __le32 *insn = function;
	char name[KSYM_SYMBOL_LEN];
	unsigned int size = 0;
	int count = 0;
	char *slash;
	int i;

	sprint_symbol(name, (unsigned long)function);
	slash = strchr(name, '/');
	if (!slash || sscanf(slash, "/%x", &size) != 1)
		return -1;
	for (i = 0; i < size / 4; i++)
		count += aarch64_insn_is_dsb(le32_to_cpu(insn[i]));

	return count;
}

/* In thousandths of an instruction; the least of some tries has no interrupt */
static unsigned long cost(bool restore)
{
	unsigned long flags = arch_local_save_flags();
	u64 least = U64_MAX;
	u64 start;
	int i, j;

	for (i = 0; i < 8; i++) {
		start = __arch_counter_get_cntvct();
		for (j = 0; j < ROUNDS; j++) {
			if (restore)
				arch_local_irq_restore(flags);
			barrier();
		}
		least = min(least, __arch_counter_get_cntvct() - start);
	}

	return least * (NSEC_PER_SEC / arch_timer_get_cntfrq()) / (ROUNDS / 1000);
}

static bool release;
static bool spinning;

static void spin(void *unused)
{
	smp_store_release(&spinning, true);
	while (!READ_ONCE(release))
		cpu_relax();
	pr_info("pmr-probe: CPU%d released\n", smp_processor_id());
}

static int __init probe_init(void)
{
	bool masking = system_uses_irq_prio_masking();
	unsigned long with, without;

	pr_info("pmr-probe: module barriers enable=%d restore=%d daif=%d sync=%d\n",
		barriers(probe_enable), barriers(probe_restore),
		barriers(probe_daif), barriers(probe_sync));
	probe_enable();
	probe_restore(arch_local_save_flags());
	probe_daif();
	probe_sync();

	without = cost(false);
	with = cost(true);
	pr_info("pmr-probe: local_irq_restore instructions=%lu.%03lu barriers=%d\n",
		(with - without) / 1000, (with - without) % 1000,
		masking ? barriers(probe_restore) : 0);

	if (num_online_cpus() > 1) {
		smp_call_function_single(1, spin, NULL, 0);
		while (!smp_load_acquire(&spinning))
			cpu_relax();
		handle_sysrq('l');
		WRITE_ONCE(release, true);
		/* let it print before the module's end */
		msleep(100);
	}
	pr_info("pmr-probe: done\n");

	return 0;
}

static void __exit probe_exit(void)
{
}

module_init(probe_init);
module_exit(probe_exit);
MODULE_DESCRIPTION("Probe of the ICC_PMR_EL1 synchronisation");
MODULE_LICENSE("GPL");
