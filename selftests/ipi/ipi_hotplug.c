// SPDX-License-Identifier: GPL-2.0
/*
 * A CPU that is offline while others broadcast takes no stray IPI when it comes
 * back, and calls stay exact while CPUs go and come.
 * -a: take all CPUs but one down in the loop, not just some
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kselftest.h"
#include "ipi_util.h"

#define ROUNDS		500
#define BARE_ROUNDS	20
#define CYCLES		10
#define LOOP_CPUS	2

static int sender, victim;
static bool all_cpus;

static bool set_online(int cpu, bool on)
{
	int err = ipi_set_online(cpu, on);

	if (err)
		ksft_print_msg("CPU %d does not go %s: %s\n", cpu, on ? "online" : "offline",
			       strerror(-err));
	return !err;
}

/* To all online CPUs but left_out, which may be -1 */
static bool send_to_all_but(int left_out, const char *name, const char *command,
			    int position, unsigned int rounds, unsigned int irq, int plus)
{
	struct ipi_run run = {
		.name = name, .command = command, .sender = sender, .position = position,
		.rounds = rounds, .bare_irq = irq, .plus = plus,
	};
	int i;

	for (i = 0; i < ipi.nr_online; i++)
		run.expected[ipi.online[i]] = ipi.online[i] != left_out;
	return ipi_run(&run);
}

static bool send_to_one(int cpu, int position)
{
	struct ipi_run run = {
		.sender = sender, .position = position, .rounds = 1, .plus = -1,
	};
	char name[64], command[64];

	snprintf(name, sizeof(name), "lone_call(cpu%d).%s", cpu, ipi_position_name[position]);
	snprintf(command, sizeof(command), "kind=one cpu=%d", cpu);
	run.name = name;
	run.command = command;
	run.expected[cpu] = true;
	return ipi_run(&run);
}

static bool offline_under_broadcasts(int position)
{
	char name[64];
	bool ok;

	if (!set_online(victim, false))
		return false;
	ipi_forget_strays(-1);
	snprintf(name, sizeof(name), "all_but_self.offline_cpu%d.%s", victim,
		 ipi_position_name[position]);
	ok = send_to_all_but(sender, name, "kind=all_but_self", position, ROUNDS, 0, -1);
	snprintf(name, sizeof(name), "everyone.offline_cpu%d.%s", victim,
		 ipi_position_name[position]);
	ok &= send_to_all_but(-1, name, "kind=everyone", position, ROUNDS, 0, -1);
	ok &= set_online(victim, true);
	ipi_forget_strays(victim);
	ok &= !ipi.traced || ipi_no_stray(victim);
	return ok && send_to_one(victim, position);
}

/* As many CPUs in the mask as are online, but not the same: one of them is offline */
static bool same_number_other_cpus(int position)
{
	int left_out = ipi.online[1];
	char name[64], command[96];
	bool ok;

	if (!set_online(victim, false))
		return false;
	ipi_forget_strays(-1);
	snprintf(name, sizeof(name), "same_number.offline_cpu%d.%s", victim,
		 ipi_position_name[position]);
	snprintf(command, sizeof(command), "kind=all_but_one cpu=%d irq=%u plus=%d",
		 left_out, ipi.call_irq, victim);
	ok = send_to_all_but(left_out, name, command, position, BARE_ROUNDS, ipi.call_irq, victim);
	ok &= set_online(victim, true);
	ipi_forget_strays(victim);
	return ok && ipi_no_stray(victim);
}

static atomic_bool loading;
static int load_error;
static unsigned int load_runs;

static void *load(void *unused)
{
	static struct ipi_result r;
	int cpu;

	ipi_pin(sender);
	while (loading && !load_error) {
		load_error = ipi_command("kind=everyone rounds=20");
		if (load_error)
			break;
		ipi_read_result(&r);
		for (cpu = 0; cpu < MAX_CPUS; cpu++)
			if (r.cpu[cpu].calls != r.cpu[cpu].sent)
				load_error = -EPROTO;
		load_runs++;
	}
	return NULL;
}

static bool loop_under_load(int position)
{
	int all[MAX_CPUS], nr = ipi.nr_online, first, i, cycle;
	pthread_t thread;
	bool ok = true;

	memcpy(all, ipi.online, sizeof(all));
	first = all_cpus || nr <= LOOP_CPUS ? 2 : nr - LOOP_CPUS;
	if (nr < 3)
		first = 1;
	ipi_switch_set(position);
	loading = true;
	load_error = 0;
	load_runs = 0;
	if (pthread_create(&thread, NULL, load, NULL))
		ksft_exit_fail_msg("cannot start a thread\n");
	ipi_pin(all[first > 1 ? 1 : 0]);

	for (cycle = 0; ok && cycle < CYCLES; cycle++) {
		ipi_time_limit(300);
		for (i = first; ok && i < nr; i++)
			ok = !ipi_can_offline(all[i]) || set_online(all[i], false);
		for (i = first; i < nr; i++)
			ok &= !ipi_can_offline(all[i]) || set_online(all[i], true);
	}
	loading = false;
	pthread_join(thread, NULL);

	if (load_error)
		ksft_print_msg("load: %s\n", strerror(-load_error));
	ksft_print_msg("%u runs of 20 rounds in %d cycles\n", load_runs, cycle);
	ok &= !load_error && load_runs;
	ipi_forget_strays(-1);
	return ok;
}

/* Why the test cannot run, or NULL */
static const char *skip_all(void)
{
	if (ipi.nr_online < 2)
		return "needs two CPUs online";
	if (!ipi_can_offline(victim))
		return "the last CPU cannot go offline (CONFIG_HOTPLUG_CPU)";
	return NULL;
}

static const char *skip_bare(void)
{
	if (skip_all())
		return skip_all();
	if (!ipi.has_switch)
		return NO_SWITCH;
	if (!ipi.call_irq)
		return "bare IPIs need GICv3 and the ipi tracepoints";
	if (ipi.nr_online < 4)
		return "needs four CPUs online";
	return NULL;
}

static void report(bool (*test)(int position), int position, const char *name, const char *skip)
{
	ipi_time_limit(300);
	if (skip)
		ksft_test_result_skip("%s.%s: %s\n", name, ipi_position_name[position], skip);
	else
		ksft_test_result(test(position), "%s.%s\n", name, ipi_position_name[position]);
}

int main(int argc, char **argv)
{
	int position, last;

	ksft_print_header();
	all_cpus = argc > 1 && !strcmp(argv[1], "-a");
	if (argc > 2 || (argc == 2 && !all_cpus))
		ksft_exit_fail_msg("usage: ipi_hotplug [-a]\n");
	ipi_begin(120);
	sender = ipi.online[0];
	victim = ipi.online[ipi.nr_online - 1];

	position = ipi.has_switch ? POS_OFF : POS_BASE;
	last = ipi.has_switch ? POS_ON : POS_BASE;
	ksft_set_plan(3 * (last - position + 1));
	for (; position <= last; position++) {
		report(offline_under_broadcasts, position, "no_stray_ipi", skip_all());
		report(same_number_other_cpus, position, "same_number_other_cpus", skip_bare());
		report(loop_under_load, position, "loop_under_load", skip_all());
	}
	ksft_finished();
}
