// SPDX-License-Identifier: GPL-2.0
/*
 * What IPIs cost, with both positions of each switch by turns. No test, and not
 * run as one: "make bench" builds and runs it.
 *
 * For people there is a line of KTAP for each case and position, with minimum,
 * median, 99th percentile and maximum. For programs, the same as one line of
 * JSON behind "# json"; with -j nothing but those on the standard output, at
 * the end, and the rest on the standard error.
 *
 * -t tests the benchmark itself as well: CPUs that go and come, unloading and
 * being killed in the middle, bad commands.
 *
 * The environment can have options in IPI_BENCH, and in IPI_BENCH_TIME what the
 * clock of an emulator is: "tcg", or "icount" if it counts instructions.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest.h"
#include "ipi_util.h"

#define MODULE		"ipi_bench"
#define DEBUGFS		"/sys/kernel/debug/" MODULE "/"
#define MAX_ROUNDS	1000000
#define MAX_BLOCKS	100
#define MAX_ROWS	256
#define TIME_LIMIT	1800

struct sample {
	unsigned long long sent, done;
};

static const struct {
	const char *name, *path;
} switches[] = {
	{ "gicv3_sgi_broadcast", "/sys/module/irqchip/parameters/gicv3_sgi_broadcast" },
	{ "gicv4_1_local_vsgi", "/sys/module/irqchip/parameters/gicv4_1_local_vsgi" },
	{ "notify_ipi", "/sys/module/smp/parameters/notify_ipi" },
};

static int switch_fds[ARRAY_SIZE(switches)];

static const char * const case_names[] = {
	"dry", "self", "one", "all_but_self", "everyone", "lock", "loop", "storm_one", "storm_all",
};

/* A case with a position of a switch */
struct row {
	const char *kind;
	int target;			/* or -1 */
	int sw, position;		/* index of the switch, or -1 */
	bool many;			/* a round is many IPIs: do fewer */
	const char *skip;
	char name[96];
	unsigned int rounds, blocks;
	struct sample *samples;
	size_t nr_samples;
	int err;
};

static struct row rows[MAX_ROWS];
static int nr_rows;
static int run_fd = -1, samples_fd = -1;
static unsigned int opt_rounds = 1000, opt_blocks = 10;
static const char *opt_cases, *opt_switches;
static bool opt_json, opt_test;
static FILE *json;

static void usage(const char *option, const char *value, const char *want)
{
	fprintf(stderr, "ipi_bench: %s%s%s: %s\n", option, value ? " " : "", value ?: "", want);
	exit(KSFT_FAIL);
}

static unsigned int parse_number(const char *option, const char *text, unsigned int max)
{
	unsigned long n;
	char *end;

	errno = 0;
	n = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || n < 1 || n > max) {
		char want[64];

		snprintf(want, sizeof(want), "give a number from 1 to %u", max);
		usage(option, text, want);
	}
	return n;
}

/* Whether name is one of the words of a list with commas; no list has them all */
static bool listed(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (; list; list = strchr(list, ',')) {
		list += *list == ',';
		if (!strncmp(list, name, len) && (!list[len] || list[len] == ','))
			return true;
		if (!*list)
			break;
	}
	return false;
}

static void check_list(const char *option, const char *list, const char * const *known, int n)
{
	char *copy = strdup(list), *rest = copy, *word, want[256] = "known:";
	int i;

	for (i = 0; i < n; i++) {
		strcat(want, " ");
		strcat(want, known[i]);
	}
	while ((word = strsep(&rest, ","))) {
		for (i = 0; i < n && strcmp(word, known[i]); i++)
			;
		if (i == n)
			usage(option, word, want);
	}
	free(copy);
}

static void parse_options(int argc, char **argv)
{
	static const char known[] = "known: -r ROUNDS -b BLOCKS -c CASES -s SWITCHES -j -t";
	const char *names[ARRAY_SIZE(switches) + 1];
	size_t i;
	int o;

	for (i = 0; i < ARRAY_SIZE(switches); i++)
		names[i] = switches[i].name;
	names[i] = "none";
	opterr = 0;
	while ((o = getopt(argc, argv, ":r:b:c:s:jt")) != -1) {
		switch (o) {
		case 'r':
			opt_rounds = parse_number("-r", optarg, MAX_ROUNDS);
			break;
		case 'b':
			opt_blocks = parse_number("-b", optarg, MAX_BLOCKS);
			break;
		case 'c':
			opt_cases = optarg;
			check_list("-c", optarg, case_names, ARRAY_SIZE(case_names));
			break;
		case 's':
			opt_switches = optarg;
			check_list("-s", optarg, names, ARRAY_SIZE(names));
			break;
		case 'j':
			opt_json = true;
			break;
		case 't':
			opt_test = true;
			break;
		default:
			usage(argv[optind - 1], NULL, o == ':' ? "needs a value" : known);
		}
	}
	if (optind < argc)
		usage(argv[optind], NULL, known);
	if (opt_blocks > opt_rounds)
		usage("-b", NULL, "give no more blocks than rounds");
}

/* IPI_BENCH="-r 100 -s none"; commas within a word, blanks or '+' between words */
static void parse_environment(char *name)
{
	char *text = getenv("IPI_BENCH"), *word, *argv[20] = { name };
	int argc = 1;

	if (!text)
		return;
	text = strdup(text);
	while ((word = strsep(&text, " +")) && argc < 19)
		if (*word)
			argv[argc++] = word;
	parse_options(argc, argv);
	optind = 1;
}

/* The first line of a file without what JSON needs quoted, or "" */
static const char *line_of(const char *path)
{
	static char line[512];
	FILE *f = fopen(path, "r");
	char *p;

	if (!f || !fgets(line, sizeof(line), f))
		line[0] = '\0';
	if (f)
		fclose(f);
	line[strcspn(line, "\n")] = '\0';
	for (p = line; *p; p++)
		if (*p == '"' || *p == '\\' || *p < ' ' || *p > '~')
			*p = '?';
	return line;
}

/* A line of /proc/cpuinfo, its value */
static const char *cpu_line(const char *key)
{
	static char line[4096];
	FILE *f = fopen("/proc/cpuinfo", "r");
	char *value = NULL;

	while (f && !value && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			value = strchr(line, ':');
	if (f)
		fclose(f);
	if (!value)
		return "";
	line[strcspn(line, "\n\"\\")] = '\0';
	return value + 1 + (value[1] == ' ');
}

static const char *time_label(void)
{
	const char *kind = getenv("IPI_BENCH_TIME");

	if (!kind)
		return "ns, hardware/KVM (hypervisor as seen)";
	if (!strcmp(kind, "icount"))
		return "instructions (QEMU -icount), exact";
	return "TCG time, no performance evidence";
}

static bool counts_instructions(void)
{
	const char *kind = getenv("IPI_BENCH_TIME");

	return kind && !strcmp(kind, "icount");
}

static void json_line(void)
{
	if (!opt_json)
		json = stdout;
	fprintf(json, "%s{\"schema\":\"ipi-bench-1\"", opt_json ? "" : "# json ");
}

static void print_text(const char *key, const char *value)
{
	fprintf(json, ",\"%s\":\"%s\"", key, value);
}

static const char *seen_hypervisor(void)
{
	if (strstr(cpu_line("flags"), "hypervisor"))
		return "x86 hypervisor flag";
	if (!access("/proc/device-tree/hypervisor", F_OK))
		return line_of("/proc/device-tree/hypervisor/compatible");
	return line_of("/sys/hypervisor/type");
}

static void print_facts(bool gicv3)
{
	struct utsname uts;
	size_t i;

	uname(&uts);
	json_line();
	print_text("record", "facts");
	print_text("release", uts.release);
	print_text("arch", uts.machine);
	fprintf(json, ",\"cpus\":%d", ipi.nr_online);
	print_text("online", line_of("/sys/devices/system/cpu/online"));
	print_text("gic", gicv3 ? "GICv3" : "none or not GICv3");
	print_text("cpu", *cpu_line("model name") ? cpu_line("model name") : cpu_line("CPU part"));
	print_text("machine", *line_of("/sys/class/dmi/id/product_name") ?
		   line_of("/sys/class/dmi/id/product_name") :
		   line_of("/proc/device-tree/model"));
	print_text("vendor", line_of("/sys/class/dmi/id/sys_vendor"));
	print_text("hypervisor", seen_hypervisor());
	print_text("idle", line_of("/sys/devices/system/cpu/cpuidle/current_driver"));
	print_text("clocksource",
		   line_of("/sys/devices/system/clocksource/clocksource0/current_clocksource"));
	print_text("cmdline", line_of("/proc/cmdline"));
	print_text("time", time_label());
	for (i = 0; i < ARRAY_SIZE(switches); i++)
		if (switch_fds[i] >= 0)
			print_text(switches[i].name, line_of(switches[i].path));
	fprintf(json, "}\n");
}

static int by_sent(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;

	return x->sent < y->sent ? -1 : x->sent > y->sent;
}

static int by_done(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;

	return x->done < y->done ? -1 : x->done > y->done;
}

struct summary {
	unsigned long long min, median, p99, max;
};

static struct summary summarise(struct row *row, bool done)
{
	const size_t n = row->nr_samples;
	const size_t at[] = { 0, (n - 1) / 2, (n * 99 + 99) / 100 - 1, n - 1 };
	unsigned long long value[ARRAY_SIZE(at)];
	size_t i;

	qsort(row->samples, n, sizeof(*row->samples), done ? by_done : by_sent);
	for (i = 0; i < ARRAY_SIZE(at); i++)
		value[i] = done ? row->samples[at[i]].done : row->samples[at[i]].sent;
	return (struct summary){ value[0], value[1], value[2], value[3] };
}

/* What waits after each call has no time for the sender alone */
static bool waits(const struct row *row)
{
	return !strcmp(row->kind, "loop") || !strncmp(row->kind, "storm", 5);
}

static void print_summary(const char *key, const struct summary *s)
{
	fprintf(json, ",\"%s\":{\"min\":%llu,\"median\":%llu,\"p99\":%llu,\"max\":%llu}", key,
		s->min, s->median, s->p99, s->max);
}

static void print_row(struct row *row, int id)
{
	struct summary sent = { 0 }, done;
	bool self = !strcmp(row->kind, "self");
	const char *unit = counts_instructions() ? "instructions" : "ns";

	if (!waits(row))
		sent = summarise(row, false);
	done = summarise(row, true);

	json_line();
	print_text("record", "cost");
	print_text("case", row->kind);
	if (row->target >= 0)
		fprintf(json, ",\"target\":%d", row->target);
	if (row->sw >= 0)
		print_text("switch", switches[row->sw].name);
	print_text("position", ipi_position_name[row->position]);
	fprintf(json, ",\"cpus\":%d,\"sender\":%d,\"rounds\":%u,\"blocks\":%u,\"samples\":%zu",
		ipi.nr_online, ipi.online[0], row->rounds, row->blocks, row->nr_samples);
	print_text("unit", unit);
	print_text("label", time_label());
	if (!waits(row))
		print_summary("sent", &sent);
	print_summary("done", &done);
	fprintf(json, ",\"mark\":%d,\"sgi\":%d}\n", id, ipi_sgi[self ? IPI_WORK : IPI_CALL]);

	if (!waits(row))
		ksft_print_msg("%s: sent %llu %llu %llu %llu %s (minimum median p99 maximum)\n",
			       row->name, sent.min, sent.median, sent.p99, sent.max, unit);
	ksft_print_msg("%s: done %llu %llu %llu %llu %s (minimum median p99 maximum)\n",
		       row->name, done.min, done.median, done.p99, done.max, unit);
}

static void set_switch(int sw, int position)
{
	const char *text = position == POS_ON ? "Y" : "N";

	if (pwrite(switch_fds[sw], text, 1, 0) != 1 || *line_of(switches[sw].path) != *text)
		ksft_exit_fail_msg("cannot set %s\n", switches[sw].path);
}

static int command(const char *text)
{
	return pwrite(run_fd, text, strlen(text), 0) < 0 ? -errno : 0;
}

/* Adds the samples of the module's last run to those of the row */
static void take_samples(struct row *row)
{
	const size_t chunk = 4096;
	ssize_t len;

	lseek(samples_fd, 0, SEEK_SET);
	do {
		row->samples = realloc(row->samples,
				       (row->nr_samples + chunk) * sizeof(struct sample));
		if (!row->samples)
			ksft_exit_fail_msg("no memory\n");
		len = read(samples_fd, row->samples + row->nr_samples,
			   chunk * sizeof(struct sample));
		if (len > 0)
			row->nr_samples += len / sizeof(struct sample);
	} while (len > 0);
}

static void run_block(struct row *row, int id, unsigned int rounds)
{
	char text[128], cpu[24] = "";

	if (row->target >= 0)
		snprintf(cpu, sizeof(cpu), " cpu=%d", row->target);
	snprintf(text, sizeof(text), "case=%s rounds=%u%s", row->kind, rounds, cpu);
	if (row->sw >= 0)
		set_switch(row->sw, row->position);
	ipi_mark(0x1b000000 | id);
	row->err = command(text);
	ipi_mark(0x1e000000 | id);
	if (row->err) {
		ksft_print_msg("%s: %s: %s\n", row->name, text, strerror(-row->err));
		return;
	}
	row->rounds += rounds;
	row->blocks++;
	take_samples(row);
}

/* All rows of a case, block by block by turns */
static void run_case(int first, int n)
{
	unsigned int block, rounds;
	int i;

	for (block = 0; block < opt_blocks; block++) {
		for (i = first; i < first + n; i++) {
			if (rows[i].skip || rows[i].err)
				continue;
			rounds = (block + 1) * opt_rounds / opt_blocks -
				 block * opt_rounds / opt_blocks;
			if (rows[i].many)
				rounds = (rounds + 9) / 10;
			run_block(&rows[i], i, rounds);
		}
	}
	for (i = first; i < first + n; i++) {
		if (rows[i].skip) {
			ksft_test_result_skip("%s: %s\n", rows[i].name, rows[i].skip);
			continue;
		}
		if (!rows[i].err)
			print_row(&rows[i], i);
		free(rows[i].samples);
		ksft_test_result(!rows[i].err, "%s\n", rows[i].name);
	}
}

static void add_row(const char *kind, int target, int sw, int position)
{
	struct row *row = &rows[nr_rows++];
	char where[24] = "";

	if (nr_rows > MAX_ROWS)
		ksft_exit_fail_msg("too many rows\n");
	row->kind = kind;
	row->target = target;
	row->sw = sw;
	row->position = position;
	row->many = !strcmp(kind, "loop") || !strncmp(kind, "storm", 5);
	if (target >= 0)
		snprintf(where, sizeof(where), "(cpu%d)", target);
	snprintf(row->name, sizeof(row->name), "%s%s.%s%s%s", kind, where,
		 sw >= 0 ? switches[sw].name : "", sw >= 0 ? "." : "",
		 ipi_position_name[position]);
	if (ipi.nr_online < 2 && strcmp(kind, "dry") && strcmp(kind, "self"))
		row->skip = "needs two CPUs online";
}

static void add_case(const char *kind, int target)
{
	bool any = false;
	size_t sw;

	if (opt_cases && !listed(opt_cases, kind))
		return;
	for (sw = 0; sw < ARRAY_SIZE(switches); sw++) {
		if (switch_fds[sw] < 0)
			continue;
		add_row(kind, target, sw, POS_OFF);
		add_row(kind, target, sw, POS_ON);
		any = true;
	}
	if (!any)
		add_row(kind, target, -1, POS_BASE);
}

/* The edges of clusters of 16, and the last CPU */
static void add_cases(void)
{
	static const int positions[] = { 1, 15, 16, 31 };
	int last = ipi.nr_online - 1;
	size_t i;

	add_case("dry", -1);
	add_case("self", -1);
	for (i = 0; i < ARRAY_SIZE(positions); i++)
		if (positions[i] < last)
			add_case("one", ipi.online[positions[i]]);
	add_case("one", ipi.online[last]);
	add_case("all_but_self", -1);
	add_case("everyone", -1);
	add_case("lock", -1);
	add_case("loop", -1);
	add_case("storm_one", ipi.online[last]);
	add_case("storm_all", -1);
}

/* How many rows that begin with this one are of the same case */
static int same_case(int first)
{
	int n = 1;

	while (first + n < nr_rows && rows[first].kind == rows[first + n].kind &&
	       rows[first].target == rows[first + n].target)
		n++;
	return n;
}

/* Tests of the benchmark itself */

static const struct {
	const char *text, *line;
} bad_commands[] = {
	{ "", "ipi_bench: case=: missing" },
	{ "case=nothing", "ipi_bench: case=nothing: dry self" },
	{ "case=one", "ipi_bench: case=one: cpu= is for" },
	{ "case=dry cpu=0", "ipi_bench: case=dry: cpu= is for" },
	{ "case=one cpu=1000000", "ipi_bench: cpu=1000000: give an online CPU" },
	{ "case=dry rounds=0", "ipi_bench: rounds=0: give a number from 1" },
	{ "case=dry rounds=1000001", "ipi_bench: rounds=1000001: give a number from 1" },
	{ "case=storm_all rounds=1000000", "ipi_bench: rounds=1000000: give at most" },
	{ "case=dry rounds=-1", "ipi_bench: rounds=-1: give a number" },
	{ "case=dry timeout_ms=10001", "ipi_bench: timeout_ms=10001: give a number from 1" },
	{ "case=dry speed=9", "ipi_bench: speed=9: known: case" },
	{ "dry", "ipi_bench: run=dry: give key=value words" },
};

/* Refused, and with this one line and no other in the kernel log */
static bool refused(const char *text, const char *line)
{
	int kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC), err, ours = 0;
	bool found = false;
	char buf[2048];
	ssize_t len;

	lseek(kmsg, 0, SEEK_END);
	err = command(text);
	while ((len = read(kmsg, buf, sizeof(buf) - 1)) > 0 || (len < 0 && errno == EPIPE)) {
		buf[len > 0 ? len : 0] = '\0';
		ours += !!strstr(buf, ";" MODULE ": ");
		found |= !!strstr(buf, line);
	}
	close(kmsg);
	if (err != -EINVAL || !found || ours != 1)
		ksft_print_msg("\"%s\": %s, %d lines in the log, %s\n", text,
			       err ? strerror(-err) : "taken", ours, found ? "good" : "bad");
	return err == -EINVAL && found && ours == 1;
}

static atomic_bool cycling;
static atomic_int cycles, cycle_errors;

static void *cycle_cpu(void *unused)
{
	int cpu = ipi.online[ipi.nr_online - 1];

	/* not where the sender spins */
	ipi_pin(ipi.online[1]);
	while (cycling) {
		cycle_errors += !!ipi_set_online(cpu, false);
		usleep(1000);
		cycle_errors += !!ipi_set_online(cpu, true);
		cycles++;
	}
	return NULL;
}

/* Runs while the last CPU goes and comes, until it went twice, and left one of them */
static bool survives_hotplug(const char *text, bool may_lose_target)
{
	static struct row row;
	pthread_t thread;
	int runs = 0, lost = 0, offline = 0, err;

	cycles = 0;
	cycle_errors = 0;
	cycling = true;
	if (pthread_create(&thread, NULL, cycle_cpu, NULL))
		ksft_exit_fail_msg("cannot start a thread\n");
	ipi_pin(ipi.online[0]);
	do {
		err = command(text);
		runs++;
		if (may_lose_target && err == -ENXIO) {
			lost++;
			err = 0;
		}
		/* the target was offline before */
		if (may_lose_target && err == -EINVAL) {
			offline++;
			err = 0;
			usleep(1000);
		}
	} while (!err && (cycles < 2 || (may_lose_target && !lost)));
	cycling = false;
	pthread_join(thread, NULL);
	ksft_print_msg("%s: %d runs, %d lost their target, %d had none, in %d cycles: %s\n", text,
		       runs, lost, offline, cycles, err ? strerror(-err) : "good");
	row.nr_samples = 0;
	if (!err && !may_lose_target)
		take_samples(&row);
	return !err && !cycle_errors && (may_lose_target || row.nr_samples);
}

/* With hold, it stops after the run, with its files open */
static pid_t start_child(const char *text, bool hold)
{
	pid_t pid = fork();
	int ret;

	if (pid < 0)
		ksft_exit_fail_msg("cannot start a process\n");
	if (!pid) {
		ipi_pin(ipi.online[0]);
		ret = command(text);
		if (hold)
			raise(SIGSTOP);
		_exit(ret ? 1 : 0);
	}
	return pid;
}

static int try_unload(void)
{
	return syscall(SYS_delete_module, MODULE, O_NONBLOCK) ? -errno : 0;
}

static void open_files(void)
{
	run_fd = open(DEBUGFS "run", O_WRONLY | O_CLOEXEC);
	samples_fd = open(DEBUGFS "samples", O_RDONLY | O_CLOEXEC);
	if (run_fd < 0 || samples_fd < 0)
		ksft_exit_skip("no " DEBUGFS ": debugfs is not mounted\n");
}

static void close_files(void)
{
	close(run_fd);
	close(samples_fd);
	run_fd = -1;
	samples_fd = -1;
}

static bool answers(void)
{
	open_files();
	ipi_pin(ipi.online[0]);
	return !command("case=everyone rounds=10");
}

/* Refused while a run goes on, which comes to its end; then it unloads */
static bool unload_during_run(const char *text)
{
	pid_t pid = start_child(text, true);
	int status, tries = 0, err = -EAGAIN;

	close_files();
	ipi_pin(ipi.online[1]);
	/* on its way out, it would let go of the module before it is seen to be gone */
	while (!waitpid(pid, &status, WNOHANG | WUNTRACED)) {
		err = try_unload();
		tries++;
		if (!err)
			break;
		usleep(1000);
	}
	if (!err)
		waitpid(pid, &status, WUNTRACED);
	if (WIFSTOPPED(status)) {
		kill(pid, SIGCONT);
		waitpid(pid, &status, 0);
	}
	ksft_print_msg("%s: %d tries to unload, the last: %s; the run: status %d\n", text, tries,
		       err ? strerror(-err) : "unloaded", status);
	if (tries < 2 || err != -EAGAIN || status)
		return false;
	ipi_unload();
	return !ipi_load("") && answers();
}

/* The run is killed in its middle, and the module unloaded at once */
static bool unload_after_kill(const char *text)
{
	pid_t pid = start_child(text, false);
	int status;

	close_files();
	usleep(20000);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	ipi_unload();
	if (!WIFSIGNALED(status))
		ksft_print_msg("%s: ended before it was killed\n", text);
	return WIFSIGNALED(status) && !ipi_load("") && answers();
}

static const char * const hotplug_runs[] = {
	"case=all_but_self rounds=100", "case=everyone rounds=100", "case=lock rounds=100",
	"case=loop rounds=10", "case=storm_all rounds=3",
}, * const unload_runs[] = {
	"case=all_but_self rounds=1000000", "case=storm_all rounds=20000",
};

#define NR_TESTS (ARRAY_SIZE(bad_commands) + ARRAY_SIZE(hotplug_runs) + 2 + \
		  1 + ARRAY_SIZE(unload_runs))

static void test_hotplug(const char *text, bool may_lose_target)
{
	ipi_time_limit(TIME_LIMIT);
	if (ipi.nr_online < 3 || !ipi_can_offline(ipi.online[ipi.nr_online - 1]))
		ksft_test_result_skip("%s with hotplug: needs three CPUs, and that one can go\n",
				      text);
	else
		ksft_test_result(survives_hotplug(text, may_lose_target), "%s with hotplug\n",
				 text);
}

static void test_benchmark(void)
{
	int last = ipi.online[ipi.nr_online - 1];
	char text[64];
	size_t i;

	ipi_pin(ipi.online[0]);
	for (i = 0; i < ARRAY_SIZE(bad_commands); i++)
		ksft_test_result(refused(bad_commands[i].text, bad_commands[i].line),
				 "command \"%s\" refused\n", bad_commands[i].text);

	for (i = 0; i < ARRAY_SIZE(hotplug_runs); i++)
		test_hotplug(hotplug_runs[i], false);
	snprintf(text, sizeof(text), "case=one cpu=%d rounds=1000", last);
	test_hotplug(text, true);
	snprintf(text, sizeof(text), "case=storm_one cpu=%d rounds=100", last);
	test_hotplug(text, true);

	ipi_time_limit(TIME_LIMIT);
	for (i = 0; i < ARRAY_SIZE(unload_runs) + 1; i++) {
		if (ipi.nr_online < 2)
			ksft_test_result_skip("unloading: needs two CPUs online\n");
		else if (!i)
			ksft_test_result(unload_during_run("case=everyone rounds=2000"),
					 "unloading during a run refused, and done after it\n");
		else
			ksft_test_result(unload_after_kill(unload_runs[i - 1]),
					 "unloading when %s was killed\n", unload_runs[i - 1]);
	}
}

int main(int argc, char **argv)
{
	char *json_text;
	size_t json_size;
	int json_fd = -1;
	bool gicv3;
	size_t sw;
	int i, n;

	parse_environment(argv[0]);
	parse_options(argc, argv);
	if (opt_json) {
		json = open_memstream(&json_text, &json_size);
		json_fd = dup(STDOUT_FILENO);
		if (!json || json_fd < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
			usage("-j", NULL, strerror(errno));
	}

	ksft_print_header();
	ipi_use(MODULE, switches[0].path);
	ipi_init(TIME_LIMIT);
	ipi_load_or_skip();
	open_files();
	gicv3 = ipi_find_sgis();
	for (sw = 0; sw < ARRAY_SIZE(switches); sw++) {
		switch_fds[sw] = -1;
		if (!opt_switches || listed(opt_switches, switches[sw].name))
			switch_fds[sw] = ipi_keep(switches[sw].path);
	}
	if (switch_fds[1] >= 0)
		ksft_print_msg("gicv4_1_local_vsgi is for guests: nothing should differ here\n");

	print_facts(gicv3);
	add_cases();
	ksft_set_plan(nr_rows + (opt_test ? NR_TESTS : 0));
	ipi_pin(ipi.online[0]);
	for (i = 0; i < nr_rows; i += n) {
		ipi_time_limit(TIME_LIMIT);
		n = same_case(i);
		run_case(i, n);
	}
	if (opt_test)
		test_benchmark();

	if (opt_json) {
		fclose(json);
		dprintf(json_fd, "%s", json_text);
	}
	ksft_finished();
}
