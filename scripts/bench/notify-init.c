// SPDX-License-Identifier: GPL-2.0
/*
 * The guest's only program: calls from CPU 0 to the idle CPU 1, in phases.
 *
 * Each phase begins with a call of personality(), which the trace shows, and with a
 * line on the console that says which phase it is. The calls are reads of a perf
 * event that counts nothing: each is one smp_call_function_single() with wait.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SWITCH "/sys/module/smp/parameters/notify_ipi"

static int rounds;
static int phases;

static void die(const char *what)
{
	printf("bench: FAIL: %s: %m\n", what);
	fflush(stdout);
	pause();
}

static int event(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
	};
	int fd = syscall(SYS_perf_event_open, &attr, -1, 1, -1, 0);

	if (fd < 0)
		die("perf_event_open");
	return fd;
}

/* With no switch in this kernel, there is only the phase "off". */
static void phase(int fd, const char *path, int on, int gap_us)
{
	long long count;
	int file = open(SWITCH, O_WRONLY);
	int i;

	if (file < 0 && on)
		return;
	if (file >= 0 && write(file, on ? "1" : "0", 1) != 1)
		die(SWITCH);
	close(file);

	usleep(gap_us * 2);
	printf("bench: phase %d %s %s\n", ++phases, path, on ? "on" : "off");
	fflush(stdout);
	personality(0xffffffff);
	for (i = 0; i < rounds; i++) {
		/* not in step with the ticks */
		usleep(gap_us + i % 5 * gap_us / 20);
		if (read(fd, &count, sizeof(count)) != sizeof(count))
			die("read");
	}
}

static void both(int fd, const char *path, int gap_us)
{
	phase(fd, path, 0, gap_us);
	phase(fd, path, 1, gap_us);
}

int main(void)
{
	cpu_set_t cpus;
	const char *path;
	int module;
	char go;
	int fd;

	rounds = atoi(getenv("rounds") ?: "50");
	mkdir("/sys", 0755);
	if (mount("sysfs", "/sys", "sysfs", 0, NULL))
		die("mount");
	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		die("sched_setaffinity");
	fd = event();

	printf("bench: ready\n");
	fflush(stdout);
	/* the host answers when its trace is on */
	if (read(0, &go, 1) != 1)
		die("read");

	path = getenv("path") ?: "";
	if (!strcmp(path, "poll_idle")) {
		module = open("/poll.ko", O_RDONLY);
		if (syscall(SYS_finit_module, module, "", 0))
			die("poll.ko");
		/* between two calls, long enough for a tick to come and be stopped */
		both(fd, path, 25000);
	} else {
		both(fd, path, 500);
	}

	printf("bench: done\n");
	fflush(stdout);
	/* until the host ends it */
	pause();
	return 0;
}
