// SPDX-License-Identifier: GPL-2.0
/*
 * The lab's guest: this is its whole user space. It runs the installed
 * selftests one by one, adds the KUnit results of the boot, sends one KTAP
 * document to the host through the virtio port "ipi.results", and powers off.
 *
 * Kernel command line:
 *   ipi.tests=A,B    the programs to run
 *   ipi.kunit=A,B    KUnit suites that must be there
 *   ipi.timeout=S    time limit of one program, in seconds
 *   ipi.mark=ADDR    IPI_MARK for the programs
 *   ipi.hang=1       never end: tests the host's time limit
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <libgen.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TESTS_DIR	"/kselftest/ipi"
#define MAX_NAMES	64

struct names {
	char *name[MAX_NAMES];
	int count;
};

static FILE *port;
static char cmdline[4096];

/* By way of the kernel log, so that no line of the kernel's is torn */
static void console(const char *what, const char *name)
{
	int fd = open("/dev/kmsg", O_WRONLY);
	char text[256];

	/* one write a line, and it cannot seek: no stdio */
	snprintf(text, sizeof(text), "<1>ipi-lab: %s%s\n", what, name);
	if (write(fd, text, strlen(text)) < 0)
		perror("/dev/kmsg");
	close(fd);
}

static void power_off(void)
{
	if (port)
		fflush(port);
	sync();
#if defined(__x86_64__) || defined(__i386)
	/* nothing to power off without ACPI; QEMU ends where others start again */
	reboot(RB_AUTOBOOT);
#endif
	reboot(RB_POWER_OFF);
	for (;;)
		pause();
}

static void bail_out(const char *what, const char *name)
{
	const char *why = strerror(errno);

	console(what, name);
	if (port)
		fprintf(port, "Bail out! %s%s (%s)\n", what, name, why);
	power_off();
}

static void mount_on(const char *dir, const char *type)
{
	mkdir(dir, 0755);
	if (mount("none", dir, type, 0, NULL) && errno != EBUSY)
		bail_out("cannot mount ", dir);
}

/* The first line of a file, without its newline; empty if there is none */
static char *first_line(const char *path)
{
	static char line[4096];
	FILE *f = fopen(path, "r");

	if (!f || !fgets(line, sizeof(line), f))
		line[0] = '\0';
	if (f)
		fclose(f);
	line[strcspn(line, "\n")] = '\0';
	return line;
}

/* A copy of the value of "name=" on the kernel command line, or NULL */
static char *option(const char *name)
{
	size_t len = strlen(name);
	char *word = cmdline;

	while (word && (strncmp(word, name, len) || word[len] != '=')) {
		word = strchr(word, ' ');
		if (word)
			word++;
	}
	return word ? strndup(word + len + 1, strcspn(word + len + 1, " ")) : NULL;
}

static void add_name(struct names *names, const char *name)
{
	int i;

	for (i = 0; i < names->count; i++)
		if (!strcmp(names->name[i], name))
			return;
	if (names->count == MAX_NAMES)
		bail_out("too many tests at ", name);
	names->name[names->count++] = strdup(name);
}

static void add_list(struct names *names, char *list)
{
	char *name;

	while ((name = strsep(&list, ",")))
		if (*name)
			add_name(names, name);
}

/* The ports of a virtio console come up by and by */
static void open_port(void)
{
	char dev[64];
	size_t i, tries;
	glob_t g;

	for (tries = 0; tries < 100; tries++) {
		if (glob("/sys/class/virtio-ports/*/name", 0, NULL, &g))
			g.gl_pathc = 0;
		for (i = 0; i < g.gl_pathc; i++) {
			if (strcmp(first_line(g.gl_pathv[i]), "ipi.results"))
				continue;
			snprintf(dev, sizeof(dev), "/dev/%s", basename(dirname(g.gl_pathv[i])));
			port = fopen(dev, "w");
			if (!port)
				bail_out("cannot open ", dev);
			setlinebuf(port);
			return;
		}
		usleep(100000);
	}
	bail_out("no virtio port named ", "ipi.results");
}

/* The id that the linker made of the kernel: says which one this is */
static void print_build_id(void)
{
	FILE *f = fopen("/sys/kernel/notes", "r");
	size_t len, at = 0, next, i;
	uint32_t notes[1024], *note;
	unsigned char *desc;

	/* lengths of the name and of the description, type; the two, padded to words */
	len = f ? fread(notes, 1, sizeof(notes), f) / sizeof(*notes) : 0;
	while (at + 3 <= len) {
		note = notes + at;
		next = at + 3 + (note[0] + 3) / 4 + (note[1] + 3) / 4;
		if (next > len)
			break;
		if (note[2] == NT_GNU_BUILD_ID && note[0] == 4 && !memcmp(note + 3, "GNU", 4)) {
			fprintf(port, "# fact build_id=");
			desc = (unsigned char *)(note + 4);
			for (i = 0; i < note[1]; i++)
				fprintf(port, "%02x", desc[i]);
			fprintf(port, "\n");
		}
		at = next;
	}
	if (f)
		fclose(f);
}

static void facts(void)
{
	struct utsname uts;
	size_t i;
	glob_t g;

	uname(&uts);
	fprintf(port, "# fact release=%s\n", uts.release);
	print_build_id();
	fprintf(port, "# fact cmdline=%s\n", cmdline);
	fprintf(port, "# fact cpus_possible=%s\n", first_line("/sys/devices/system/cpu/possible"));
	fprintf(port, "# fact cpus_online=%s\n", first_line("/sys/devices/system/cpu/online"));
	/* the switches of the series are parameters of these */
	if (glob("/sys/module/irqchip/parameters/*", 0, NULL, &g))
		g.gl_pathc = 0;
	glob("/sys/module/smp/parameters/*", g.gl_pathc ? GLOB_APPEND : 0, NULL, &g);
	for (i = 0; i < g.gl_pathc; i++)
		fprintf(port, "# fact switch.%s=%s\n", basename(g.gl_pathv[i]),
			first_line(g.gl_pathv[i]));
}

static long long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

static pid_t start_program(const char *name, int *out)
{
	int fds[2];
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		bail_out("no pipe for ", name);
	pid = fork();
	if (pid < 0)
		bail_out("no process for ", name);
	if (!pid) {
		setsid();
		dup2(fds[1], STDOUT_FILENO);
		dup2(fds[1], STDERR_FILENO);
		if (!chdir(TESTS_DIR))
			execl(name, name, NULL);
		dprintf(STDOUT_FILENO, "# cannot run %s: %s\n", name, strerror(errno));
		_exit(127);
	}
	close(fds[1]);
	*out = fds[0];
	return pid;
}

/* The program's output, indented as a subtest; returns its wait status, -1 past the limit */
static int run_program(const char *name, int limit)
{
	bool line_start = true, exited = false, killed = false;
	long long end = now_ms() + limit * 1000LL;
	char buf[4096];
	ssize_t len, i;
	int out, status;
	pid_t pid = start_program(name, &out);
	struct pollfd pfd = { .fd = out, .events = POLLIN };

	for (;;) {
		if (!exited && waitpid(pid, &status, WNOHANG) == pid) {
			exited = true;
			kill(-pid, SIGKILL);	/* whoever still holds the pipe */
		}
		if (!exited && now_ms() >= end) {
			killed = true;
			kill(-pid, SIGKILL);
			if (now_ms() >= end + 10000)
				bail_out("cannot kill ", name);
		}
		if (poll(&pfd, 1, 100) <= 0)
			continue;
		len = read(out, buf, sizeof(buf));
		if (len <= 0)
			break;
		for (i = 0; i < len; i++) {
			if (line_start)
				fputs("  ", port);
			fputc(buf[i], port);
			line_start = buf[i] == '\n';
		}
	}
	if (!line_start)
		fputc('\n', port);
	close(out);
	if (!exited)
		waitpid(pid, &status, 0);
	return killed ? -1 : status;
}

static void run_test(int nr, const char *name, int limit)
{
	int status;

	console("running ", name);
	status = run_program(name, limit);
	fprintf(port, "%s %d selftests: ipi: %s",
		status == 0 || status == 4 << 8 ? "ok" : "not ok", nr, name);
	if (status == -1)
		fprintf(port, " # TIMEOUT %d seconds", limit);
	else if (WIFSIGNALED(status))
		fprintf(port, " # signal %d", WTERMSIG(status));
	else if (status == 4 << 8)
		fprintf(port, " # SKIP");
	else if (status)
		fprintf(port, " # exit=%d", WEXITSTATUS(status));
	fputc('\n', port);
}

static void copy_kunit(int nr, const char *suite)
{
	bool ok = false, bad = false;
	char path[300], line[1024];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/kernel/debug/kunit/%s/results", suite);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f)) {
		fprintf(port, "  %s", line);
		ok |= !strncmp(line, "ok ", 3);
		bad |= !strncmp(line, "not ok ", 7);
	}
	fprintf(port, "%s %d kunit: %s%s\n", ok && !bad ? "ok" : "not ok", nr, suite,
		f ? "" : " # no such suite in this kernel");
	if (f)
		fclose(f);
}

static void list_suites(struct names *suites)
{
	glob_t g;
	size_t i;

	add_list(suites, option("ipi.kunit"));
	if (glob("/sys/kernel/debug/kunit/*/results", 0, NULL, &g))
		return;
	for (i = 0; i < g.gl_pathc; i++)
		add_name(suites, basename(dirname(g.gl_pathv[i])));
}

int main(void)
{
	struct names tests = { .count = 0 }, suites = { .count = 0 };
	char *limit, *mark;
	int i;

	mount_on("/dev", "devtmpfs");
	mount_on("/proc", "proc");
	mount_on("/sys", "sysfs");
	mount_on("/sys/kernel/debug", "debugfs");
	mount_on("/sys/kernel/tracing", "tracefs");
	mount_on("/tmp", "tmpfs");
	console("init runs", "");
	snprintf(cmdline, sizeof(cmdline), "%s", first_line("/proc/cmdline"));
	open_port();

	add_list(&tests, option("ipi.tests"));
	list_suites(&suites);
	limit = option("ipi.timeout");
	mark = option("ipi.mark");
	if (mark)
		setenv("IPI_MARK", mark, 1);

	fprintf(port, "KTAP version 1\n1..%d\n", tests.count + suites.count);
	facts();
	if (option("ipi.hang"))
		pause();
	for (i = 0; i < tests.count; i++)
		run_test(i + 1, tests.name[i], limit ? atoi(limit) : 300);
	for (i = 0; i < suites.count; i++)
		copy_kunit(tests.count + i + 1, suites.name[i]);

	fputs("# ipi-lab: clean end\n", port);
	console("clean end", "");
	power_off();
}
