// SPDX-License-Identifier: GPL-2.0
/*
 * Bad values are refused and named: parameters of the test module, its
 * commands, and the switch of SGI broadcast. Good ones are taken.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kselftest.h"
#include "ipi_util.h"

static int kmsg = -1;

static void log_skip(void)
{
	if (kmsg < 0)
		kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	lseek(kmsg, 0, SEEK_END);
}

/* Whether the kernel has logged this since log_skip() */
static bool logged(const char *text)
{
	bool found = false;
	char line[2048];
	ssize_t len;

	while ((len = read(kmsg, line, sizeof(line) - 1)) > 0 || (len < 0 && errno == EPIPE)) {
		line[len > 0 ? len : 0] = '\0';
		found |= !!strstr(line, text);
	}
	if (!found)
		ksft_print_msg("not in the kernel log: %s\n", text);
	return found;
}

static bool refused(int err, const char *what)
{
	if (err != -EINVAL)
		ksft_print_msg("%s: %s, not %s\n", what, err ? strerror(-err) : "taken",
			       strerror(EINVAL));
	return err == -EINVAL;
}

static const struct {
	const char *text, *line;
} bad_params[] = {
	{ "rounds=0", "ipi_test: rounds=0: give a number from 1 to 1000000" },
	{ "rounds=1000001", "ipi_test: rounds=1000001: give a number from 1 to 1000000" },
	{ "rounds=-1", "ipi_test: rounds=-1: give a number" },
	{ "rounds=many", "ipi_test: rounds=many: give a number" },
	{ "rounds=", "ipi_test: rounds=: give a number" },
	{ "timeout_ms=0", "ipi_test: timeout_ms=0: give a number from 1 to 600000" },
	{ "timeout_ms=600001", "ipi_test: timeout_ms=600001: give a number from 1 to 600000" },
}, bad_commands[] = {
	{ "", "ipi_test: kind=: missing" },
	{ "kind=nobody", "ipi_test: kind=nobody: one self" },
	{ "kind=one", "ipi_test: kind=one: cpu= is for" },
	{ "kind=everyone cpu=0", "ipi_test: kind=everyone: cpu= is for" },
	{ "kind=one cpu=1000000", "ipi_test: cpu=1000000: give an online CPU" },
	{ "kind=everyone rounds=0", "ipi_test: rounds=0: give a number from 1" },
	{ "kind=everyone wait=2", "ipi_test: wait=2: give 0 or 1" },
	{ "kind=everyone wait=yes", "ipi_test: wait=yes: give a number" },
	{ "kind=everyone irq=1000000", "ipi_test: irq=1000000: give an IPI" },
	{ "kind=everyone plus=0", "ipi_test: plus=0: give an offline CPU" },
	{ "kind=everyone speed=9", "ipi_test: speed=9: known: kind" },
	{ "everyone", "ipi_test: run=everyone: give key=value words" },
}, bad_switch[] = {
	{ "maybe", NULL }, { "2", NULL }, { "-1", NULL },
}, good_switch[] = {
	{ "0", "N" }, { "1", "Y" }, { "N", "N" }, { "Y", "Y" },
};

static void test_params(void)
{
	size_t i;
	bool ok;

	for (i = 0; i < ARRAY_SIZE(bad_params); i++) {
		/* unloading takes long where kernel TLB entries are flushed page by page */
		ipi_time_limit(60);
		log_skip();
		ok = refused(ipi_load(bad_params[i].text), bad_params[i].text);
		ksft_test_result(ok & logged(bad_params[i].line), "module parameter %s refused\n",
				 bad_params[i].text);
	}
}

static void test_commands(void)
{
	cpu_set_t all;
	size_t i;
	bool ok;

	sched_getaffinity(0, sizeof(all), &all);
	for (i = 0; i < ARRAY_SIZE(bad_commands); i++) {
		ipi_pin(ipi.online[0]);
		log_skip();
		/* a write of no bytes does not reach the module */
		ok = refused(ipi_command(*bad_commands[i].text ? bad_commands[i].text : " "),
			     bad_commands[i].text);
		ksft_test_result(ok & logged(bad_commands[i].line), "command \"%s\" refused\n",
				 bad_commands[i].text);
	}
	if (ipi.nr_online < 2) {
		ksft_test_result_skip("writer not pinned: needs two CPUs online\n");
		return;
	}
	sched_setaffinity(0, sizeof(all), &all);
	log_skip();
	ok = refused(ipi_command("kind=everyone"), "writer not pinned");
	ksft_test_result(ok & logged("ipi_test: run=ipi_param: the writer must be pinned"),
			 "writer not pinned refused\n");
}

static void test_switch(void)
{
	size_t i;
	char was;
	bool ok;

	for (i = 0; i < ARRAY_SIZE(bad_switch); i++) {
		if (!ipi.has_switch) {
			ksft_test_result_skip("switch \"%s\": " NO_SWITCH "\n", bad_switch[i].text);
			continue;
		}
		was = ipi_switch_read();
		ok = refused(ipi_switch_write(bad_switch[i].text), bad_switch[i].text);
		ksft_test_result(ok && ipi_switch_read() == was,
				 "switch \"%s\" refused and left alone\n", bad_switch[i].text);
	}
	for (i = 0; i < ARRAY_SIZE(good_switch); i++) {
		if (!ipi.has_switch)
			ksft_test_result_skip("switch %s: " NO_SWITCH "\n", good_switch[i].text);
		else
			ksft_test_result(!ipi_switch_write(good_switch[i].text) &&
					 ipi_switch_read() == *good_switch[i].line,
					 "switch %s taken\n", good_switch[i].text);
	}
}

int main(void)
{
	ksft_print_header();
	ipi_begin(120);
	ksft_set_plan(ARRAY_SIZE(bad_params) + ARRAY_SIZE(bad_commands) + 1 +
		      ARRAY_SIZE(bad_switch) + ARRAY_SIZE(good_switch));
	test_commands();
	test_switch();
	ipi_unload();
	test_params();
	ksft_finished();
}
