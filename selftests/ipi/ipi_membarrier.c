// SPDX-License-Identifier: GPL-2.0
/*
 * membarrier(2), a user of IPIs to many CPUs: with a thread on each CPU, its
 * barrier holds against all of them, with both positions of the switch.
 */
#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kselftest.h"
#include "ipi_util.h"

#define ROUNDS	20

static const struct {
	const char *name;
	int command, reg;
} commands[] = {
	{ "global_expedited", MEMBARRIER_CMD_GLOBAL_EXPEDITED,
	  MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED },
	{ "private_expedited", MEMBARRIER_CMD_PRIVATE_EXPEDITED,
	  MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED },
};

/* One a CPU, none on the cache line of another */
struct side {
	atomic_int mine;	/* stored by the thread on this CPU */
	atomic_int saw;		/* what it then read of the main thread's */
	atomic_int round;	/* the round it has done */
	int cpu;
	char pad[112];
};

static struct side sides[MAX_CPUS];
static struct side main_side;
static atomic_int round_nr;
static atomic_bool stop;
static int sender;
static int nr;			/* of the last round */

static long membarrier(int command)
{
	return syscall(SYS_membarrier, command, 0, 0);
}

/* Also lets an emulator run another CPU */
static void relax(void)
{
#if defined(__aarch64__) || (defined(__arm__) && __ARM_ARCH >= 7)
	__asm__ volatile("yield" ::: "memory");
#elif defined(__x86_64__) || defined(__i386__)
	__asm__ volatile("pause" ::: "memory");
#else
	__asm__ volatile("" ::: "memory");
#endif
}

/* The fast side: store, then load, ordered by the compiler only */
static void *fast_side(void *arg)
{
	struct side *side = arg;
	int now;

	ipi_pin(side->cpu);
	for (;;) {
		while ((now = atomic_load(&round_nr)) == atomic_load(&side->round) &&
		       !atomic_load(&stop))
			relax();
		if (atomic_load(&stop))
			return NULL;
		atomic_store_explicit(&side->mine, now, memory_order_relaxed);
		atomic_signal_fence(memory_order_seq_cst);
		side->saw = atomic_load_explicit(&main_side.mine,
						 memory_order_relaxed);
		atomic_store(&side->round, now);
	}
}

static void wait_for_round(struct side *side, int nr)
{
	while (atomic_load(&side->round) != nr)
		relax();
}

/* The slow side: store, membarrier, load. One side must see the other's store. */
static bool slow_side(int command)
{
	int seen[MAX_CPUS], i;
	bool ok = true;

	atomic_store(&round_nr, ++nr);
	atomic_store_explicit(&main_side.mine, nr, memory_order_relaxed);
	if (membarrier(command)) {
		ksft_print_msg("membarrier failed\n");
		return false;
	}
	for (i = 0; i < ipi.nr_online; i++)
		seen[i] = atomic_load_explicit(&sides[i].mine, memory_order_relaxed);
	for (i = 0; i < ipi.nr_online; i++) {
		if (ipi.online[i] == sender)
			continue;
		wait_for_round(&sides[i], nr);
		if (seen[i] != nr && sides[i].saw != nr) {
			ksft_print_msg("round %d: CPUs %d and %d did not see each other's store\n",
				       nr, sender, ipi.online[i]);
			ok = false;
		}
	}
	return ok;
}

static bool barrier_holds(size_t c, int position)
{
	struct ipi_bracket b;
	char name[64];
	bool ok = true;
	int i, attempt;

	ipi_switch_set(position);
	for (attempt = 0; ok && attempt < 5; attempt++) {
		ipi_bracket_begin(&b, sender, IPI_CALL);
		for (i = 0; ok && i < ROUNDS; i++)
			ok = slow_side(commands[c].command);
		ipi_bracket_end(&b);
		if (b.clean)
			break;
	}
	if (!ok || attempt == 5)
		return false;

	snprintf(name, sizeof(name), "membarrier_%s.%s", commands[c].name,
		 ipi_position_name[position]);
	ipi_bracket_print(&b, name, ROUNDS, 0);
	if (!ipi.witness)
		return true;

	/* a CPU may run something else for a moment: not each call is for all */
	if (position == POS_ON && ipi.many_clusters)
		ok = b.irm > 0;
	else
		ok = b.irm == 0;
	if (!ok)
		ksft_print_msg("%s: %d broadcasts in %d calls\n", name, b.irm, ROUNDS);
	return ok;
}

/*
 * A registration does not reach a CPU that has this mm but runs a kernel thread
 * just then, and no later one is made for this mm. So it is made on the only CPU
 * that an mm, new by exec, has ever been on.
 */
static void stay_here(char *program)
{
	cpu_set_t here;
	int cpu;

	cpu = sched_getcpu();
	if (cpu < 0 || cpu >= CPU_SETSIZE)
		ksft_exit_fail_msg("cannot pin to CPU %d\n", cpu);
	CPU_ZERO(&here);
	CPU_SET(cpu, &here);
	if (sched_setaffinity(0, sizeof(here), &here))
		ksft_exit_fail_msg("cannot pin to CPU %d: %s\n", cpu, strerror(errno));
	execl("/proc/self/exe", program, "pinned", NULL);
	ksft_exit_fail_msg("cannot exec /proc/self/exe: %s\n", strerror(errno));
}

int main(int argc, char **argv)
{
	int position, first, last, i;
	pthread_t thread[MAX_CPUS];
	long supported;
	size_t c;

	supported = membarrier(MEMBARRIER_CMD_QUERY);
	if (supported >= 0 && argc == 1)
		stay_here(argv[0]);

	ksft_print_header();
	if (supported < 0)
		ksft_exit_skip("no membarrier(2): CONFIG_MEMBARRIER\n");
	for (c = 0; c < ARRAY_SIZE(commands); c++)
		if (supported & commands[c].command && membarrier(commands[c].reg))
			ksft_exit_fail_msg("cannot register for %s\n", commands[c].name);
	ipi_begin(120);
	sender = ipi.online[0];
	ipi_pin(sender);

	first = ipi.has_switch ? POS_OFF : POS_BASE;
	last = ipi.has_switch ? POS_ON : POS_BASE;
	ksft_set_plan(ARRAY_SIZE(commands) * (last - first + 1));

	for (i = 0; i < ipi.nr_online; i++) {
		sides[i].cpu = ipi.online[i];
		if (ipi.online[i] != sender &&
		    pthread_create(&thread[i], NULL, fast_side, &sides[i]))
			ksft_exit_fail_msg("cannot start a thread\n");
	}
	/* all run from here on */
	atomic_store(&round_nr, ++nr);
	for (i = 0; i < ipi.nr_online; i++)
		if (ipi.online[i] != sender)
			wait_for_round(&sides[i], nr);

	for (position = first; position <= last; position++) {
		for (c = 0; c < ARRAY_SIZE(commands); c++) {
			ipi_time_limit(120);
			if (!(supported & commands[c].command))
				ksft_test_result_skip("%s: not in this kernel\n",
						      commands[c].name);
			else
				ksft_test_result(barrier_holds(c, position), "%s.%s\n",
						 commands[c].name, ipi_position_name[position]);
		}
	}
	atomic_store(&stop, true);
	for (i = 0; i < ipi.nr_online; i++)
		if (ipi.online[i] != sender)
			pthread_join(thread[i], NULL);
	ksft_finished();
}
