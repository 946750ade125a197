// SPDX-License-Identifier: GPL-2.0
/*
 * Message passing: the sender stores data and sends an IPI, with no barrier of
 * its own in between; every CPU that takes the IPI must see the data. Call
 * functions have barriers in their queue; bare IPIs have the one in the driver
 * of the interrupt controller, and no other.
 *
 * IPI_MESSAGE_ROUNDS=N in the environment: rounds of each case, up to 1000000.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest.h"
#include "ipi_util.h"

#define ROUNDS		100
#define ROUNDS_MAX	1000000
#define ROUNDS_UNSEEN	10

static const char * const kinds[] = {
	"one", "self", "cluster", "all_but_one", "all_but_self", "everyone",
};

static struct ipi_result result;
static unsigned long rounds = ROUNDS;

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
	return strcmp(kind, "all_but_self") || cpu != sender;
}

/* With message 2, nobody can have seen it; with 1, everybody must have */
static bool seen_as_expected(const struct ipi_run *run, int message)
{
	bool ok = true;
	int i;

	ipi_read_result(&result);
	for (i = 0; i < ipi.nr_online; i++) {
		const struct ipi_cpu *c = &result.cpu[ipi.online[i]];
		int least = run->expected[ipi.online[i]] && message == 2 ? (int)run->rounds : 0;

		if (c->stale >= least && c->stale <= least + c->others)
			continue;
		ksft_print_msg("%s: CPU %d missed %d messages, not %d (%d IPIs of others)\n",
			       run->name, ipi.online[i], c->stale, least, c->others);
		ok = false;
	}
	return ok;
}

static void test(const char *kind, bool bare, int position, int message)
{
	int sender = ipi.online[0], target = ipi.online[ipi.nr_online - 1], i;
	struct ipi_run run = {
		.sender = sender,
		.position = position,
		.rounds = message == 2 ? ROUNDS_UNSEEN : rounds,
		.self_ipi = !strcmp(kind, "self"),
		.bare_irq = bare ? ipi.call_irq : 0,
		.plus = -1,
	};
	bool needs_target = !strcmp(kind, "one") || !strcmp(kind, "cluster") ||
			    !strcmp(kind, "all_but_one");
	char name[64], command[100];
	int len;

	snprintf(name, sizeof(name), "%s.%s.%s.%s", message == 2 ? "unseen" : "seen", kind,
		 bare ? "bare" : "call", ipi_position_name[position]);
	if (ipi.nr_online < 2 && strcmp(kind, "self") && strcmp(kind, "everyone")) {
		ksft_test_result_skip("%s: needs two CPUs online\n", name);
		return;
	}
	if (!strcmp(kind, "cluster") && !ipi.clusters) {
		ksft_test_result_skip("%s: the clusters of this machine are not known\n", name);
		return;
	}
	if (bare && !ipi.call_irq) {
		ksft_test_result_skip("%s: bare IPIs need GICv3 and the ipi tracepoints\n", name);
		return;
	}

	len = snprintf(command, sizeof(command), "kind=%s message=%d", kind, message);
	if (needs_target)
		len += snprintf(command + len, sizeof(command) - len, " cpu=%d", target);
	if (bare)
		snprintf(command + len, sizeof(command) - len, " irq=%u", ipi.call_irq);
	run.name = name;
	run.command = command;
	for (i = 0; i < ipi.nr_online; i++)
		run.expected[ipi.online[i]] = is_in(kind, ipi.online[i], sender, target);
	ipi_time_limit(60 + rounds / 50);
	ksft_test_result(ipi_run(&run) && seen_as_expected(&run, message), "%s\n", name);
}

int main(void)
{
	const char *text = getenv("IPI_MESSAGE_ROUNDS");
	int positions[2] = { POS_BASE }, nr_positions = 1, p;
	size_t k;
	char *end;

	ksft_print_header();
	if (text) {
		rounds = strtoul(text, &end, 10);
		if (*end || rounds < 1 || rounds > ROUNDS_MAX)
			ksft_exit_fail_msg("IPI_MESSAGE_ROUNDS=%s: give a number from 1 to %d\n",
					   text, ROUNDS_MAX);
	}
	ipi_begin(120);
	ipi_read_result(&result);
	if (ipi.has_switch) {
		positions[0] = POS_ON;
		positions[1] = POS_OFF;
		nr_positions = 2;
	}
	/* self is sent as irq_work, never as a bare IPI */
	ksft_set_plan((2 * ARRAY_SIZE(kinds) - 1) * nr_positions + 2);

	for (p = 0; p < nr_positions; p++) {
		for (k = 0; k < ARRAY_SIZE(kinds); k++) {
			test(kinds[k], false, positions[p], 1);
			if (strcmp(kinds[k], "self"))
				test(kinds[k], true, positions[p], 1);
		}
	}
	test("everyone", false, positions[0], 2);
	test("everyone", true, positions[0], 2);
	ksft_finished();
}
