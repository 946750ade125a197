/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For the lab's kernel only, in place of the kernel's header of that guard. QEMU
 * with one thread for all CPUs goes on to the next one at a YIELD. arm64 has it
 * in cpu_relax(), arm has not: each CPU that waits for another would use up its
 * 100 ms first, which makes a hotplug operation with 32 CPUs take ten seconds.
 * On a CPU, YIELD is a hint that changes no state.
 */
#ifndef __ASM_VDSO_PROCESSOR_H
#define __ASM_VDSO_PROCESSOR_H
#ifndef __ASSEMBLY__
static inline void lab_yield(void)
{
	__asm__ __volatile__("yield" ::: "memory");
}

#define cpu_relax()	lab_yield()
#endif
#endif
