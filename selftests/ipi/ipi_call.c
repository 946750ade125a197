// SPDX-License-Identifier: GPL-2.0
/*
 * Each kind of mask, with and without waiting, from the first and the last CPU,
 * with SGI broadcast on, off and on again: every CPU in the mask gets each call
 * once, no other CPU gets any.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest.h"
#include "ipi_util.h"

#define ROUNDS		20
#define STORM		1000
#define FLIP_ROUNDS	1000
#define MAX_TESTS	200

struct test {
	char name[64];
	char command[64];
	const char *skip;
	struct ipi_run run;
};

static struct test *tests;
static int nr_tests;
static struct ipi_result result;

static bool is_in(const char *kind, int cpu, int sender, int target)
{
	if (!strcmp(kind, "one"))
		return cpu == target;
	if (!strcmp(kind, "self"))
		return cpu == sender;
	if (!strcmp(kind, "cluster"))
		return !((result.cpu[cpu].affinity ^ result.cpu[target].affinity) & ~0xf);
	if (!strcmp(kind, "all_but_one"))
		return cpu != target;
	if (!strcmp(kind, "all_but_self"))
		return cpu != sender;
	return true;
}

/* target: -1 for kinds without; wait: -1 for a bare IPI */
static void add(const char *kind, int sender, int position, int wait, int target)
{
	struct test *t = &tests[nr_tests++];
	char where[16] = "", argument[32] = "";
	int i;

	if (nr_tests > MAX_TESTS)
		ksft_exit_fail_msg("too many tests\n");
	if (target >= 0) {
		snprintf(where, sizeof(where), "(cpu%d)", target);
		snprintf(argument, sizeof(argument), " cpu=%d", target);
	}
	snprintf(t->name, sizeof(t->name), "%s%s.%s.%s.from_cpu%d", kind, where,
		 wait < 0 ? "bare" : wait ? "wait" : "nowait", ipi_position_name[position], sender);
	if (wait < 0)
		snprintf(t->command, sizeof(t->command), "kind=%s irq=%u%s", kind, ipi.call_irq,
			 argument);
	else
		snprintf(t->command, sizeof(t->command), "kind=%s wait=%d%s", kind, wait, argument);

	if (ipi.nr_online < 2 && strcmp(kind, "self") && strcmp(kind, "everyone"))
		t->skip = "needs two CPUs online";
	else if (!strcmp(kind, "cluster") && !ipi.clusters)
		t->skip = "the clusters of this machine are not known";
	else if (wait < 0 && !ipi.call_irq)
		t->skip = "bare IPIs need GICv3 and the ipi tracepoints";

	t->run.name = t->name;
	t->run.command = t->command;
	t->run.sender = sender;
	t->run.position = position;
	t->run.rounds = ipi.nr_online == 1 ? STORM : ROUNDS;
	t->run.self_ipi = !strcmp(kind, "self");
	t->run.bare_irq = wait < 0 ? ipi.call_irq : 0;
	t->run.plus = -1;
	for (i = 0; i < ipi.nr_online; i++)
		t->run.expected[ipi.online[i]] = is_in(kind, ipi.online[i], sender, target);
}

static void add_kinds(int sender, int position)
{
	int last = ipi.online[ipi.nr_online - 1];
	int other = sender == last ? ipi.online[0] : last;
	int left_out = ipi.online[ipi.nr_online / 2];
	int wait;

	add("self", sender, position, 0, -1);
	for (wait = 0; wait < 2; wait++) {
		add("one", sender, position, wait, other);
		add("cluster", sender, position, wait, other);
		add("all_but_one", sender, position, wait, left_out);
		add("all_but_self", sender, position, wait, -1);
		add("everyone", sender, position, wait, -1);
	}
	add("all_but_one", sender, position, -1, left_out);
	add("all_but_self", sender, position, -1, -1);
	add("everyone", sender, position, -1, -1);
}

/* The CPUs at the edges of clusters of 16 */
static void add_edges(int sender, int position)
{
	static const int edges[] = { 0, 1, 15, 16, 31 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(edges); i++) {
		if (!ipi_is_online(edges[i]))
			continue;
		add("one", sender, position, 0, edges[i]);
		add("cluster", sender, position, 0, edges[i]);
	}
}

static void add_position(int position)
{
	int first = ipi.online[0], last = ipi.online[ipi.nr_online - 1];

	add_kinds(first, position);
	if (last != first)
		add_kinds(last, position);
	add_edges(first, position);
}

static atomic_bool flipping;

static void *flip(void *unused)
{
	bool on = false;

	while (flipping) {
		ipi_switch_write(on ? "1" : "0");
		on = !on;
		usleep(50);
	}
	return NULL;
}

static bool flip_while_sending(void)
{
	int sender = ipi.online[0], i, err;
	pthread_t thread;
	char command[64];
	bool ok = true;

	snprintf(command, sizeof(command), "kind=everyone rounds=%d", FLIP_ROUNDS);
	flipping = true;
	if (pthread_create(&thread, NULL, flip, NULL))
		ksft_exit_fail_msg("cannot start a thread\n");
	ipi_pin(sender);
	err = ipi_command(command);
	flipping = false;
	pthread_join(thread, NULL);
	if (err) {
		ksft_print_msg("%s: %s\n", command, strerror(-err));
		return false;
	}
	ipi_read_result(&result);
	for (i = 0; i < ipi.nr_online; i++) {
		if (result.cpu[ipi.online[i]].calls != FLIP_ROUNDS) {
			ksft_print_msg("CPU %d got %u, not %u\n", ipi.online[i],
				       result.cpu[ipi.online[i]].calls, FLIP_ROUNDS);
			ok = false;
		}
		ok &= !ipi.traced || ipi_no_stray(ipi.online[i]);
	}
	return ok;
}

int main(void)
{
	int t;

	ksft_print_header();
	ipi_begin(120);
	ipi_read_result(&result);
	tests = calloc(MAX_TESTS + 1, sizeof(*tests));
	if (!tests)
		ksft_exit_fail_msg("no memory\n");

	if (ipi.has_switch) {
		add_position(POS_ON);
		add_position(POS_OFF);
		add_kinds(ipi.online[0], POS_ON);
	} else {
		add_position(POS_BASE);
	}
	ksft_set_plan(nr_tests + 1);

	for (t = 0; t < nr_tests; t++) {
		ipi_time_limit(120);
		if (tests[t].skip)
			ksft_test_result_skip("%s: %s\n", tests[t].name, tests[t].skip);
		else
			ksft_test_result(ipi_run(&tests[t].run), "%s\n", tests[t].name);
	}
	ipi_time_limit(300);
	if (!ipi.has_switch)
		ksft_test_result_skip("switch flipped while sending: " NO_SWITCH "\n");
	else if (ipi.nr_online < 2)
		ksft_test_result_skip("switch flipped while sending: needs two CPUs online\n");
	else
		ksft_test_result(flip_while_sending(), "switch flipped while sending\n");
	ksft_finished();
}
