// SPDX-License-Identifier: GPL-2.0
/*
 * Prints how many kHz the TSC of an x86 guest has that QEMU's TCG runs on this
 * machine: there it is the host's own, or its clock in ns. A guest would
 * measure it by the PIT, and be wrong or give up when the host is busy.
 */
#include <stdio.h>
#include <time.h>

static long long now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

int main(void)
{
	long long ticks = 1000000;
#if defined(__x86_64__) || defined(__i386)
	long long start = now(), first = __builtin_ia32_rdtsc(), end;

	while (now() - start < 200000000)
		;
	end = __builtin_ia32_rdtsc();
	ticks = (end - first) * 1000000 / (now() - start);
#endif
	printf("%lld\n", ticks);
}
