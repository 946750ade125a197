// SPDX-License-Identifier: GPL-2.0
/*
 * Calls to a CPU that polls while it is idle: no IPI is sent, and with
 * smp.notify_ipi on the CPU does not call the scheduler either. For each way to
 * idle that this CPU can be brought to, with the switch on, off and on again:
 * who was kicked how, by counts. Then what must not be lost on the way.
 *
 * In the environment: IPI_NOTIFY_STORM=N, calls from each CPU in the storm;
 * IPI_NOTIFY_FAIL=1, end at the first failure.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest.h"
#include "ipi_util.h"

#define MODULE		"notify_test"
#define DEBUGFS		"/sys/kernel/debug/" MODULE "/"
#define SWITCH		"/sys/module/smp/parameters/notify_ipi"
#define SCHEDSTATS	"/proc/sys/kernel/sched_schedstats"
#define MARK		"notify_livepatch"
#define NO_NOTIFY	"no smp.notify_ipi: a kernel without SCHED_NOTIFY_IPI"

#define TABLE_LINE	"notify %s calls=%d cal=%d sched_count=%d sched_goidle=%d " \
			"wake_without_ipi=%d idle=%d mwait=%d tick=%s\n"
/* 251: the vector */
#define WITNESS_LINE	"witness id=0x%x name=%s sgi=251 sender=any target=%d irm=0 list=%d " \
			"rounds=%d partial=0\n"
#define LEFT_LINE	"%s: of 20 looks, %d with NEED_RESCHED, %d with PREEMPT_NEED_RESCHED, " \
			"%d with NOTIFY_IPI\n"

#define CALLS		1000
#define GAP_US		300
#define SETTLE_US	5000
/* in CALLS: what other work of the target may add or hide */
#define FEW		10
#define NOISE		50
/* the same where soft interrupts are for threads: two schedules each, and more */
#define THREADED	200
#define SHORT		100	/* calls of one type */
#define ATTEMPTS	3
#define STORM		5000
#define TORTURE_S	10

enum { HLT, ALL, POLL, MWAIT };

static const struct path {
	const char *name, *command;
	int kind, tick;			/* -1: not looked at */
} paths[] = {
	{ "hlt", "path=none", HLT, -1 },
	{ "poll_idle.tick", "path=poll tick=1", POLL, 1 },
	{ "poll_idle.no_tick", "path=poll tick=0", POLL, 0 },
	{ "mwait.tick", "path=mwait tick=1", MWAIT, 1 },
	{ "mwait.no_tick", "path=mwait tick=0", MWAIT, 0 },
	/* the last: it takes the CPUs other than these two away */
	{ "cpu_idle_poll", "path=all", ALL, 1 },
};

struct sample {
	int cal, count, goidle;
	int wake, in, idle0, idle1, mwait, usage0, usage1;
	int resched, preempt, notify;
};

static int sender, target;
static int run_fd, result_fd, event_fd = -1;
static int positions[3] = { POS_BASE }, nr_positions = 1;
static bool booted_polling, rt, threaded;
static int stopped, ticking;
static char schedstats_was = '0';

static char *read_all(const char *path)
{
	static char text[1 << 17];
	ssize_t len, sum = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	while (fd >= 0 && (len = read(fd, text + sum, sizeof(text) - 1 - sum)) > 0)
		sum += len;
	if (fd >= 0)
		close(fd);
	text[sum] = '\0';
	return text;
}

static int column_of(int cpu)
{
	int i;

	for (i = 0; i < ipi.nr_online && ipi.online[i] != cpu; i++)
		;
	return i;
}

static int calls_taken(void)
{
	char *p = strstr(read_all("/proc/interrupts"), "CAL:");
	int n = 0, i;

	if (!p)
		ksft_exit_fail_msg("no CAL in /proc/interrupts\n");
	p += 4;
	for (i = 0; i <= column_of(target); i++)
		n = strtol(p, &p, 10);
	return n;
}

static void read_schedstat(struct sample *s)
{
	char key[16], *p;

	snprintf(key, sizeof(key), "\ncpu%d ", target);
	p = strstr(read_all("/proc/schedstat"), key);
	if (!p || sscanf(p + strlen(key), "%*u %*u %d %d", &s->count, &s->goidle) != 2)
		ksft_exit_fail_msg("no cpu%d in /proc/schedstat\n", target);
}

static int entered(int state)
{
	char path[100];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/cpuidle/state%d/usage", target,
		 state);
	return atoi(read_all(path));
}

static char *module_text(void)
{
	static char text[4096];
	ssize_t len;

	len = pread(result_fd, text, sizeof(text) - 1, 0);
	text[len > 0 ? len : 0] = '\0';
	return text;
}

static void module_counts(struct sample *s)
{
	char *text = module_text(), key[16], *p;

	snprintf(key, sizeof(key), "\ncpu=%d ", target);
	p = strstr(text, key);
	if (!p || sscanf(p + strlen(key),
			 "wake=%d in=%d idle0=%d idle1=%d mwait=%d got=%*d resched=%d preempt=%d notify=%d",
			 &s->wake, &s->in, &s->idle0, &s->idle1, &s->mwait, &s->resched,
			 &s->preempt, &s->notify) != 8)
		ksft_exit_fail_msg("cannot read " DEBUGFS "result: %s\n", text);
}

/* A number of the first line */
static int module_number(const char *name)
{
	char *text = module_text(), key[32], *p;

	snprintf(key, sizeof(key), " %s=", name);
	p = strstr(text, key);
	return p ? atoi(p + strlen(key)) : -1;
}

static struct sample take_sample(void)
{
	struct sample s;

	s.cal = calls_taken();
	read_schedstat(&s);
	module_counts(&s);
	s.usage0 = entered(0);
	s.usage1 = entered(1);
	return s;
}

static struct sample since(const struct sample *from)
{
	struct sample now = take_sample();

	now.cal -= from->cal;
	now.count -= from->count;
	now.goidle -= from->goidle;
	now.wake -= from->wake;
	now.idle0 -= from->idle0;
	now.idle1 -= from->idle1;
	now.mwait -= from->mwait;
	now.usage0 -= from->usage0;
	now.usage1 -= from->usage1;
	return now;
}

static void look_at_tick(void)
{
	char key[24], *p;

	snprintf(key, sizeof(key), "\ncpu: %d\n", target);
	p = strstr(read_all("/proc/timer_list"), key);
	p = p ? strstr(p, ".tick_stopped") : NULL;
	p = p ? strchr(p, ':') : NULL;
	if (!p)
		return;
	if (atoi(p + 1))
		stopped++;
	else
		ticking++;
}

/* 0 or -errno */
static int command(const char *text)
{
	return write(run_fd, text, strlen(text)) < 0 ? -errno : 0;
}

static int command_on_target(const char *text)
{
	char with_cpu[100];

	snprintf(with_cpu, sizeof(with_cpu), "%s cpu=%d", text, target);
	return command(with_cpu);
}

static bool done(int err, const char *what)
{
	if (err)
		ksft_print_msg("%s: %s\n", what, strerror(-err));
	return !err;
}

static void open_event(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.size = sizeof(attr),
	};

	if (event_fd >= 0)
		close(event_fd);
	event_fd = syscall(SYS_perf_event_open, &attr, -1, target, -1, PERF_FLAG_FD_CLOEXEC);
	if (event_fd < 0)
		ksft_exit_skip("perf_event_open: %s\n", strerror(errno));
}

/* One synchronous call: the event is read on its CPU */
static bool call(void)
{
	unsigned long long value;

	return read(event_fd, &value, sizeof(value)) == sizeof(value);
}

static int distance(int a, int b)
{
	return a > b ? a - b : b - a;
}

static bool path_taken(const struct path *p, const struct sample *d)
{
	bool ok;

	switch (p->kind) {
	case HLT:
		ok = d->idle1 > 0 && !d->idle0 && !d->usage0;
		break;
	case ALL:
		/* which may go on polling all the time */
		ok = (d->idle0 > 0 || !d->in) && !d->idle1 && !d->usage0 && !d->mwait;
		break;
	case POLL:
		ok = d->usage0 > 0 && d->idle0 > 0 && !d->idle1 && !d->mwait;
		break;
	default:
		ok = d->usage0 > 0 && d->mwait > 0 && !d->idle1;
		break;
	}
	if (!ok)
		ksft_print_msg("%s: not taken: in state %d, entries %d, %d, usage %d, mwait %d\n",
			       p->name, d->in, d->idle0, d->idle1, d->usage0, d->mwait);
	/* a call makes a CPU look at its tick again, so not each look sees it stopped */
	if (p->tick == 1 && stopped) {
		ksft_print_msg("%s: tick stopped %d times\n", p->name, stopped);
		ok = false;
	}
	if (p->tick == 0 && stopped < ticking) {
		ksft_print_msg("%s: tick running %d times, stopped %d\n", p->name, ticking,
			       stopped);
		ok = false;
	}
	return ok;
}

static bool as_expected(const struct path *p, int position, const struct sample *d)
{
	/* others call it, too: idle load balancing does where the tick is stopped */
	int others = p->tick == 1 ? NOISE : 2 * NOISE;
	int ipis = p->tick == 1 ? FEW : 3 * FEW;
	int schedules = threaded ? THREADED : FEW;

	if (p->kind == HLT)
		return distance(d->cal, CALLS) <= others && d->count <= schedules &&
		       d->wake <= FEW;
	if (distance(d->wake + d->cal, CALLS) > others)
		return false;
	/* a CPU under an emulator is outside of MWAIT for a good part of the time */
	if (p->kind == MWAIT ? d->wake < CALLS / 20 : d->cal > ipis)
		return false;
	if (position == POS_ON)
		return d->count <= schedules;
	return distance(d->count, d->wake) <= (threaded ? THREADED : NOISE);
}

/* Until the target has nothing else to do; it may not come to that */
static void quiet(void)
{
	struct sample s;
	int i, last = -1;

	for (i = 0; i < 30; i++) {
		read_schedstat(&s);
		if (s.count == last)
			return;
		last = s.count;
		usleep(100000);
	}
}

/* CALLS calls, some time apart, between two markers */
static struct sample table_once(unsigned int *id, bool *clean)
{
	static unsigned int seq;
	struct sample start, d;
	int before, i, attempt;

	stopped = 0;
	ticking = 0;
	quiet();
	/* none is taken near the marker, so none that was sent before it is taken after it */
	for (attempt = 0, *clean = false; !*clean && attempt < 20; attempt++) {
		*id = (getpid() & 0xfff) << 8 | (seq++ & 0xff);
		before = calls_taken();
		usleep(SETTLE_US);
		ipi_mark(0x1b000000 | *id);
		usleep(SETTLE_US);
		start = take_sample();
		*clean = before == start.cal;
	}
	for (i = 0; i < CALLS; i++) {
		usleep(GAP_US);
		if (!call())
			ksft_exit_fail_msg("read of a perf event: %s\n", strerror(errno));
		if (i % 100 == 50)
			look_at_tick();
	}
	d = since(&start);
	ipi_mark(0x1e000000 | *id);
	usleep(SETTLE_US);
	*clean &= calls_taken() - start.cal == d.cal;
	return d;
}

static bool table(const struct path *p, int position, const char *name)
{
	unsigned int id;
	struct sample d;
	bool ok, clean;
	int attempt;

	for (attempt = 0; attempt < ATTEMPTS; attempt++) {
		d = table_once(&id, &clean);
		ok = as_expected(p, position, &d);
		ksft_print_msg(TABLE_LINE, name, CALLS, d.cal, d.count, d.goidle, d.wake,
			       d.idle0 + d.idle1, d.mwait,
			       stopped > ticking ? "stopped" : "running");
		if (!path_taken(p, &d))
			return false;
		if (ok && clean)
			break;
	}
	if (clean)
		ksft_print_msg(WITNESS_LINE, id, name, target, d.cal, CALLS);
	return ok;
}

/* The target idles and nobody wants anything of it: no flag may be up */
static bool nothing_left(const char *name)
{
	int i, resched = 0, preempt = 0, notify = 0;
	struct sample s;

	for (i = 0; i < 20; i++) {
		usleep(1000);
		module_counts(&s);
		resched += s.resched;
		preempt += s.preempt;
		notify += s.notify;
	}
	/* something may be seen at work; what is left over is seen each time */
	if (resched < 10 && preempt < 10 && notify < 10)
		return true;
	ksft_print_msg(LEFT_LINE, name, resched, preempt, notify);
	return false;
}

static bool call_type(const struct path *p, int position, const char *type)
{
	struct sample start, d;
	/* outside of an interrupt, raising a softirq wakes ksoftirqd, also without the flag */
	bool softirq = !strncmp(type, "softirq", 7), wakeup = softirq || !strcmp(type, "wakeup");
	bool timer = !strcmp(type, "timer"), wait = !strcmp(type, "softirq_wait"), ok;
	/* a timer takes two ticks and more, and what waits may do so in vain */
	int rounds = timer || wait ? SHORT / 5 : SHORT, attempt, err;
	int few = threaded ? SHORT / 2 : FEW;
	char text[64];

	snprintf(text, sizeof(text), "call=%s rounds=%d gap=%d", type, rounds, GAP_US);
	for (attempt = 0; attempt < ATTEMPTS; attempt++) {
		quiet();
		start = take_sample();
		err = command_on_target(text);
		d = since(&start);
		if (err == -EOPNOTSUPP)
			return true;	/* said once, by the plan */
		if (!done(err, text))
			return false;
		if (wakeup)
			ok = d.count >= rounds || (softirq && p->kind == HLT);
		else if (timer && threaded)
			ok = true;	/* each wakes a thread */
		else if (p->kind == HLT || position == POS_ON)
			ok = d.count <= few;
		else
			ok = distance(d.count, d.wake) <= few;
		/*
		 * An interrupt that comes in between two polls, with polling already set
		 * again, has its soft interrupts run so: that is as without the flag.
		 */
		if (wait && module_number("missed") > rounds / 4) {
			ksft_print_msg("%d calls did not arrive during a soft interrupt\n",
				       module_number("missed"));
			ok = false;
		}
		/* what is lost comes with the next timer of another, or never */
		if (timer && module_number("late") > 50) {
			ksft_print_msg("a timer late by %d ticks\n", module_number("late"));
			ok = false;
		}
		ksft_print_msg("%s.%s %s calls=%d cal=%d sched_count=%d wake_without_ipi=%d\n",
			       p->name, ipi_position_name[position], type, rounds, d.cal, d.count,
			       d.wake);
		if (ok)
			return true;
	}
	return false;
}

static atomic_int futex_word, futex_seen;

static long futex(int op, int value)
{
	return syscall(SYS_futex, &futex_word, op | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

static void *futex_waiter(void *unused)
{
	int seen = 0;

	ipi_pin(target);
	while (seen < SHORT) {
		futex(FUTEX_WAIT, seen);
		if (atomic_load(&futex_word) == seen)
			continue;
		seen = atomic_load(&futex_word);
		atomic_store(&futex_seen, seen);
	}
	return NULL;
}

/* A task bound to the target is woken from user space; it adds schedules, with any switch */
static bool futex_wakes(void)
{
	struct sample start, d;
	pthread_t thread;
	int i;

	atomic_store(&futex_word, 0);
	atomic_store(&futex_seen, 0);
	if (pthread_create(&thread, NULL, futex_waiter, NULL))
		ksft_exit_fail_msg("cannot start a thread\n");
	usleep(20000);
	start = take_sample();
	for (i = 1; i <= SHORT; i++) {
		usleep(GAP_US);
		atomic_store(&futex_word, i);
		futex(FUTEX_WAKE, 1);
		/* the time limit of the program ends this */
		while (atomic_load(&futex_seen) != i)
			usleep(10);
	}
	d = since(&start);
	pthread_join(thread, NULL);
	if (d.count >= SHORT)
		return true;
	ksft_print_msg("%d wakes, %d schedules\n", SHORT, d.count);
	return false;
}

/*
 * A call and then a wakeup are queued while the target is held: only the first
 * kicks. The wakeup must not wait for another one, or for the next tick: the
 * target does not idle before the task runs.
 */
static bool wake_behind(void)
{
	const int rounds = 50;
	/* PREEMPT_RT does not queue wakeups for the target: they are kicks of their own */
	const int most = (rt ? 2 : 1) * rounds + rounds / 5;
	int kicks, idled, attempt;

	for (attempt = 0; attempt < ATTEMPTS; attempt++) {
		if (!done(command_on_target("behind=1 rounds=50"), "behind"))
			return false;
		kicks = module_number("kicks");
		idled = module_number("idled");
		ksft_print_msg("%d wakeups behind calls: %d kicks, idle %d times before they ran\n",
			       rounds, kicks, idled);
		/* a kick for each call and none for a wakeup, and straight to the task */
		if (kicks >= rounds && kicks <= most && idled <= FEW / 2)
			return true;
	}
	return false;
}

static bool run_storm(void)
{
	const char *env = getenv("IPI_NOTIFY_STORM");
	unsigned long n = env ? strtoul(env, NULL, 10) : STORM;
	struct sample start, d;
	char text[64];

	if (n < 1 || n > 1000000) {
		ksft_print_msg("IPI_NOTIFY_STORM=%s: give a number from 1 to 1000000\n", env);
		return false;
	}
	snprintf(text, sizeof(text), "storm=1 gap=0 rounds=%lu", n);
	start = take_sample();
	ipi_time_limit(120 + n / 500);
	if (!done(command_on_target(text), text))
		return false;
	d = since(&start);
	ksft_print_msg("storm of %lu calls from each of %d CPUs: cal=%d sched_count=%d wake=%d\n",
		       n, ipi.nr_online - 1, d.cal, d.count, d.wake);
	return true;
}

static bool lone_call(void)
{
	struct sample start = take_sample(), d;

	usleep(20000);
	open_event();
	if (!call())
		return false;
	d = since(&start);
	/* the opening takes calls, too */
	return d.cal + d.wake > 0;
}

static bool hotplug_under_load(void)
{
	bool ok = true;
	int i, status;
	pid_t pid;

	if (!ipi_can_offline(target))
		return false;
	close(event_fd);
	event_fd = -1;
	pid = fork();
	if (pid < 0)
		ksft_exit_fail_msg("cannot fork\n");
	if (!pid)
		_exit(!done(command_on_target("storm=1 gap=50 rounds=3000"), "storm"));
	for (i = 0; i < 3; i++) {
		usleep(100000);
		ok &= done(ipi_set_online(target, false), "offline");
		usleep(50000);
		ok &= done(ipi_set_online(target, true), "online");
	}
	if (waitpid(pid, &status, 0) != pid || status)
		ok = false;
	i = module_number("absent");
	ksft_print_msg("%d calls failed while CPU %d was offline\n", i, target);
	for (status = 0; status < 20; status++)
		ok &= lone_call();
	return ok && i > 0;
}

/* To the kernel log. One write a line, and it cannot seek: no stdio */
static void log_line(const char *text)
{
	int fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)!write(fd, text, strlen(text));
	close(fd);
}

/*
 * A task of SCHED_FIFO makes the idle time, and ksoftirqd cannot run beside it. If a
 * soft interrupt was left to ksoftirqd, the tick's code warns of it, rightly; the
 * kernel log says when that is.
 */
static bool run_inject(void)
{
	bool ok;

	log_line("<5>ipi_notify: idle injection begins\n");
	ok = done(command_on_target("inject=1 rounds=100 gap=2000"), "inject");
	log_line("<5>ipi_notify: idle injection ends\n");
	return ok;
}

static bool unload(const char *name)
{
	/* a live patch that was switched off is let go of in a moment */
	return done(ipi_unload_module(name, 20), name);
}

static bool livepatch_is(const char *file, char value)
{
	char path[100], *text;
	int i;

	snprintf(path, sizeof(path), "/sys/kernel/livepatch/notify_livepatch/%s", file);
	for (i = 0; i < 2000; i++) {
		text = read_all(path);
		/* it goes with the patch */
		if (text[0] == value || (!value && !text[0]))
			return true;
		usleep(10000);
	}
	ksft_print_msg("%s is %s\n", path, text);
	return false;
}

/* A transition takes each idle task through its loop, the polling one's too */
static bool run_livepatch(void)
{
	const char *enabled = "/sys/kernel/livepatch/notify_livepatch/enabled";
	bool ok;
	int fd;

	if (!done(ipi_load_module("notify_livepatch", ""), "notify_livepatch.ko"))
		return false;
	ok = livepatch_is("transition", '0') && strstr(read_all("/proc/version"), MARK);
	fd = open(enabled, O_WRONLY | O_CLOEXEC);
	ok &= fd >= 0 && write(fd, "0", 1) == 1;
	close(fd);
	ok &= livepatch_is("transition", '\0') && !strstr(read_all("/proc/version"), MARK);
	return unload("notify_livepatch") && ok;
}

/* The kernel's own torture test of call functions, for a while; it says how it went */
static bool run_scftorture(void)
{
	int log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	char line[8192];
	bool ok, success = false;
	ssize_t len;

	if (log < 0 || lseek(log, 0, SEEK_END) < 0)
		return done(-errno, "/dev/kmsg");
	if (!done(ipi_load_module("torture", ""), "torture.ko"))
		return false;
	ok = done(ipi_load_module("scftorture", "stat_interval=5"), "scftorture.ko");
	if (ok)
		sleep(TORTURE_S);
	ok = ok && unload("scftorture");
	ok &= unload("torture");
	/* EPIPE: lines were lost, read on */
	while ((len = read(log, line, sizeof(line) - 1)) > 0 || errno == EPIPE) {
		line[len > 0 ? len : 0] = '\0';
		if (strstr(line, "End of test: SUCCESS"))
			success = true;
	}
	close(log);
	if (ok && !success)
		ksft_print_msg("scftorture did not end with SUCCESS, see the kernel log\n");
	return ok && success;
}

static bool set_stale(int kind)
{
	struct sample start, d;
	/* one that stayed would keep the loop going: thousands */
	int attempt, most = threaded ? 60 : kind == 1 ? 2 : 20;

	for (attempt = 0; attempt < ATTEMPTS; attempt++) {
		start = take_sample();
		if (!done(command_on_target(kind == 1 ? "stale=1" : "stale=2"), "stale"))
			return false;
		usleep(50000);
		d = since(&start);
		ksft_print_msg("stale NOTIFY_IPI, %s: idle entries %d, sched_count %d, left %d\n",
			       kind == 1 ? "idle" : "busy", d.idle0 + d.idle1, d.count, d.notify);
		if (!d.notify && d.idle0 + d.idle1 <= most && d.count <= most)
			return true;
	}
	return false;
}

/* The idle task leaves its loop with the flag set, and should not have it after that */
static bool leave_with_flag(void)
{
	if (!done(command_on_target("stale=3 rounds=50"), "stale"))
		return false;
	if (!module_number("stale"))
		return true;
	ksft_print_msg("NOTIFY_IPI still set while a task ran: %d of 50\n",
		       module_number("stale"));
	return false;
}

static bool set_path(const struct path *p)
{
	int err, i;

	/* the rest would keep the host's CPUs from these two */
	if (p->kind == ALL)
		for (i = ipi.nr_online - 1; i >= 0; i--)
			if (ipi.online[i] != sender && ipi.online[i] != target)
				ipi_set_online(ipi.online[i], false);
	err = p->kind == ALL && booted_polling ? 0 : command_on_target(p->command);
	if (err == -EOPNOTSUPP)
		return false;
	if (err)
		ksft_exit_fail_msg("%s: %s\n", p->command, strerror(-err));
	/* the call gets the target out of what it was in */
	usleep(10000);
	return call();
}

enum {
	TABLE, LEFT, TYPES, FUTEX, BEHIND, STORMS, RCU, HOTPLUG, INJECT, LIVEPATCH, TORTURE,
	STALE_LEAVING, STALE_IDLE, STALE_BUSY, NR_TESTS,
};

static const char * const tests[] = {
	[TABLE] = "table", [LEFT] = "no_flag_left", [TYPES] = "call_types",
	[FUTEX] = "futex_wake", [BEHIND] = "wakeup_behind_a_call", [STORMS] = "storm",
	[RCU] = "expedited_rcu", [HOTPLUG] = "hotplug_under_load", [INJECT] = "idle_injection",
	[LIVEPATCH] = "livepatch", [TORTURE] = "scftorture", [STALE_IDLE] = "stale_notify_idle",
	[STALE_BUSY] = "stale_notify_busy", [STALE_LEAVING] = "stale_notify_leaving",
};

static bool types(const struct path *p, int position)
{
	/* not &&: each is shown. PREEMPT_RT warns of a call that starts a soft interrupt. */
	return call_type(p, position, "sync") & call_type(p, position, "async") &
	       call_type(p, position, "irq_work") & call_type(p, position, "wakeup") &
	       (rt || (call_type(p, position, "softirq") &
		       call_type(p, position, "softirq_wait"))) &
	       call_type(p, position, "timer");
}

static bool run_test(int test, const struct path *p, int position, const char *name)
{
	switch (test) {
	case TABLE: return table(p, position, name);
	case LEFT: return nothing_left(name);
	case TYPES: return types(p, position);
	case FUTEX: return futex_wakes();
	case BEHIND: return wake_behind();
	case STORMS: return run_storm();
	case RCU: return done(command("rcu=1 rounds=200"), "rcu");
	case HOTPLUG: return hotplug_under_load();
	case INJECT: return run_inject();
	case LIVEPATCH: return run_livepatch();
	case TORTURE: return run_scftorture();
	case STALE_LEAVING: return leave_with_flag();
	case STALE_IDLE: return set_stale(1);
	default: return set_stale(2);
	}
}

static const char *why_skip(int test, const struct path *p, int position)
{
	if (booted_polling && p->kind != ALL)
		return "the kernel was booted with idle=poll";
	if (test >= STALE_LEAVING && position == POS_BASE)
		return NO_NOTIFY;
	/* the target goes on polling, so that nothing but the flag is seen to end it */
	if ((test == STALE_IDLE && p->kind == HLT) || (test >= STALE_IDLE && p->kind == MWAIT))
		return "this path is left all the time";
	if (test == LIVEPATCH && access("/sys/kernel/livepatch", F_OK))
		return "no CONFIG_LIVEPATCH";
	if (test == TORTURE && !ipi_has_module("scftorture"))
		return "no scftorture.ko and torture.ko in test_modules";
	if (test == HOTPLUG && !ipi_can_offline(target))
		return "this CPU cannot go offline";
	return NULL;
}

/* All of them with the switch on; off and on again, those that compare */
static void test_path(const struct path *p, int n)
{
	int position = positions[n], test;
	bool ok, there = !(booted_polling && p->kind != ALL) && set_path(p);
	const char *skip;
	char name[64];

	if (position != POS_BASE)
		ipi_switch_set(position);
	for (test = 0; test < NR_TESTS; test++) {
		snprintf(name, sizeof(name), "%s.%s.%s", p->name, ipi_position_name[position],
			 tests[test]);
		if ((n == 1 && test > TYPES) || (n == 2 && test > LEFT))
			break;
		ipi_time_limit(getenv("IPI_NOTIFY_FAIL") ? 40 : 120);
		skip = why_skip(test, p, position);
		if (!skip && !there)
			skip = "this kernel or CPU has no such path";
		if (skip) {
			ksft_test_result_skip("%s: %s\n", name, skip);
			continue;
		}
		ok = run_test(test, p, position, name);
		ksft_test_result(ok, "%s\n", name);
		if (!ok && getenv("IPI_NOTIFY_FAIL"))
			ksft_exit_fail_msg("%s fails\n", name);
	}
}

/* Those that were moved away from the target */
static struct {
	pid_t pid;
	cpu_set_t was;
} moved[1024];
static int nr_moved;

static void put_back(void)
{
	int fd = open(SCHEDSTATS, O_WRONLY | O_CLOEXEC);

	if (fd >= 0)
		(void)!write(fd, &schedstats_was, 1);
	while (nr_moved--)
		sched_setaffinity(moved[nr_moved].pid, sizeof(cpu_set_t), &moved[nr_moved].was);
}

/* Whoever can be elsewhere: what runs on the target is counted there */
static void move_others(void)
{
	DIR *dir = opendir("/proc");
	struct dirent *d;
	cpu_set_t set;
	pid_t pid;

	while (dir && (d = readdir(dir)) && nr_moved < (int)ARRAY_SIZE(moved)) {
		pid = atoi(d->d_name);
		if (pid <= 0 || pid == getpid() || sched_getaffinity(pid, sizeof(set), &set) ||
		    !CPU_ISSET(target, &set) || CPU_COUNT(&set) < 2)
			continue;
		moved[nr_moved].pid = pid;
		moved[nr_moved].was = set;
		CPU_CLR(target, &set);
		/* not all kernel threads let themselves be moved */
		if (!sched_setaffinity(pid, sizeof(set), &set))
			nr_moved++;
	}
	if (dir)
		closedir(dir);
}

static void enable_schedstats(void)
{
	int fd = open(SCHEDSTATS, O_RDWR | O_CLOEXEC);

	if (fd < 0 || read(fd, &schedstats_was, 1) != 1 || pwrite(fd, "1", 1, 0) != 1)
		ksft_exit_skip("no " SCHEDSTATS ": CONFIG_SCHEDSTATS\n");
	close(fd);
	atexit(put_back);
}

int main(void)
{
	struct sample start, d;
	size_t i;
	int n;

	ksft_print_header();
#if !defined(__x86_64__) && !defined(__i386)
	ksft_exit_skip("no polling idle with this kind of CPU\n");
#endif
	ipi_use(MODULE, SWITCH);
	ipi_init(120);
	if (ipi.nr_online < 2)
		ksft_exit_skip("needs two CPUs online\n");
	rt = strstr(read_all("/proc/version"), "PREEMPT_RT");
	threaded = rt || strstr(read_all("/proc/cmdline"), "threadirqs");
	sender = ipi.online[0];
	target = ipi.online[1];
	ipi_pin(sender);
	enable_schedstats();
	move_others();
	ipi_load_or_skip();
	run_fd = open(DEBUGFS "run", O_WRONLY | O_CLOEXEC);
	result_fd = open(DEBUGFS "result", O_RDONLY | O_CLOEXEC);
	if (run_fd < 0 || result_fd < 0)
		ksft_exit_skip("no " DEBUGFS ": debugfs is not mounted\n");
	open_event();

	/* makes the CPUs go through their idle loops, which the module then sees */
	if (!done(command_on_target("path=none"), "path=none"))
		ksft_exit_fail_msg(MODULE " takes no command\n");
	start = take_sample();
	for (i = 0; i < 10; i++) {
		usleep(10000);
		call();
	}
	d = since(&start);
	booted_polling = !d.in && !d.idle1;

	if (ipi.has_switch) {
		positions[0] = POS_ON;
		positions[1] = POS_OFF;
		positions[2] = POS_ON;
		nr_positions = 3;
	}
	ksft_set_plan(ARRAY_SIZE(paths) * (ipi.has_switch ? NR_TESTS + 3 + 2 : NR_TESTS) +
		      !ipi.has_switch);
	if (!ipi.has_switch)
		ksft_test_result_skip("switch on and off: " NO_NOTIFY "\n");
	for (i = 0; i < ARRAY_SIZE(paths); i++)
		for (n = 0; n < nr_positions; n++)
			test_path(&paths[i], n);
	ksft_finished();
}
