// SPDX-License-Identifier: GPL-2.0
/*
 * The guest of t-pmr.sh, its whole user space: KUnit results, CPUs off and on
 * again, the probe module, the taint. Then it waits for its memory to be copied.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <glob.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ROUNDS	3

static void print_file(const char *what, const char *path)
{
	FILE *file = fopen(path, "r");
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		printf("pmr-init: %s: %s", what, line);
	if (file)
		fclose(file);
	else
		printf("pmr-init: %s: missing\n", what);
}

static int put(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY);
	int bad = fd < 0 || write(fd, value, strlen(value)) < 0;

	if (fd >= 0)
		close(fd);

	return bad;
}

int main(void)
{
	int bad = 0, done = 0, fd, round;
	cpu_set_t boot_cpu;
	glob_t cpus;
	size_t i;

	mount("proc", "/proc", "proc", 0, NULL);
	mount("sysfs", "/sys", "sysfs", 0, NULL);
	mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL);
	setvbuf(stdout, NULL, _IOLBF, 0);

	print_file("kunit", "/sys/kernel/debug/kunit/gic-v3-pmr-sync/results");

	/* all but the boot CPU */
	glob("/sys/devices/system/cpu/cpu[1-9]*/online", 0, NULL, &cpus);
	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < cpus.gl_pathc; i++) {
			bad += put(cpus.gl_pathv[i], "0");
			bad += put(cpus.gl_pathv[i], "1");
			done++;
		}
	}
	printf("pmr-init: hotplug %d done %d failed\n", done, bad);
	print_file("online", "/sys/devices/system/cpu/online");

	/* the probe lets CPU 1 spin, and must not be there itself */
	CPU_ZERO(&boot_cpu);
	CPU_SET(0, &boot_cpu);
	if (sched_setaffinity(0, sizeof(boot_cpu), &boot_cpu))
		perror("pmr-init: sched_setaffinity");
	fd = open("/pmr_probe.ko", O_RDONLY);
	if (syscall(SYS_finit_module, fd, "", 0))
		perror("pmr-init: finit_module");
	print_file("tainted", "/proc/sys/kernel/tainted");
	printf("pmr-init: end\n");
	for (;;)
		pause();
}
