// SPDX-License-Identifier: GPL-2.0
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__) || defined(__i386)
#include <sys/io.h>
#endif
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "kselftest.h"
#include "ipi_util.h"

#define DEBUGFS		"/sys/kernel/debug/ipi_test/"
#define CPU_DIR		"/sys/devices/system/cpu/"
#define CPU_LINE	"cpu=%u sent=%u calls=%u entered=%d raised=%d affinity=%x " \
			"irm0=%d list0=%d irm1=%d list1=%d stale=%d others=%d"
#define WITNESS_LINE	"witness id=0x%x name=%s sgi=%d sender=0x%x irm=%d list=%d " \
			"rounds=%u partial=%u\n"
#define ATTEMPTS	10

struct ipi_machine ipi;
const char * const ipi_position_name[] = { "off", "on", "base" };

/* of ipi_use() */
static const char *module = "ipi_test";
static const char *switch_file = "/sys/module/irqchip/parameters/gicv3_sgi_broadcast";

int ipi_sgi[IPI_REASONS] = { -1, -1 };

/* What restore() puts back; only open files, as it runs in signal handlers */
static int switch_fd = -1;
static char switch_was;
static int online_fd[MAX_CPUS];
static atomic_bool loaded;
static struct {
	int fd;
	char was;
} kept[4];
static int nr_kept;
static int run_fd = -1, result_fd = -1, broadcast_fd = -1;

static void close_module(void)
{
	close(run_fd);
	close(result_fd);
	close(broadcast_fd);
	run_fd = -1;
	result_fd = -1;
	broadcast_fd = -1;
}

/* Waits for who still uses it; also called by a signal's handler. 0 or -errno */
int ipi_unload_module(const char *name, unsigned int tenths)
{
	struct timespec tenth = { .tv_nsec = 100000000 };

	for (; syscall(SYS_delete_module, name, O_NONBLOCK); tenths--) {
		if (!tenths || (errno != EWOULDBLOCK && errno != EBUSY))
			return -errno;
		nanosleep(&tenth, NULL);
	}
	return 0;
}

static void restore(void)
{
	int i, fd = switch_fd;

	/* closed to threads that go on flipping it */
	switch_fd = -1;
	if (fd >= 0)
		(void)!pwrite(fd, &switch_was, 1, 0);
	for (i = 0; i < nr_kept; i++)
		(void)!pwrite(kept[i].fd, &kept[i].was, 1, 0);
	for (i = 0; i < MAX_CPUS; i++)
		if (online_fd[i] > 0)
			(void)!pwrite(online_fd[i], "1", 1, 0);
	if (!loaded)
		return;
	close_module();
	/* another thread may be in it */
	ipi_unload_module(module, 50);
	loaded = 0;
}

static void on_signal(int sig)
{
	static const char text[] = "Bail out! time limit or signal\n";

	restore();
	(void)!write(STDOUT_FILENO, text, sizeof(text) - 1);
	_exit(KSFT_FAIL);
}

void ipi_time_limit(unsigned int seconds)
{
	alarm(seconds);
}

static ssize_t read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY);
	ssize_t len, sum = 0;

	text[0] = '\0';
	if (fd < 0)
		return -1;
	while ((len = read(fd, text + sum, size - 1 - sum)) > 0)
		sum += len;
	close(fd);
	text[sum] = '\0';
	return sum;
}

void ipi_read_online(void)
{
	char text[4096], *p = text;
	int first, last, len;

	ipi.nr_online = 0;
	if (read_text(CPU_DIR "online", text, sizeof(text)) <= 0)
		ksft_exit_fail_msg("cannot read " CPU_DIR "online\n");
	while (sscanf(p, "%d%n", &first, &len) == 1) {
		p += len;
		last = first;
		if (*p == '-' && sscanf(p, "-%d%n", &last, &len) == 1)
			p += len;
		for (; first <= last && first < MAX_CPUS; first++)
			ipi.online[ipi.nr_online++] = first;
		if (*p++ != ',')
			break;
	}
}

bool ipi_is_online(int cpu)
{
	int i;

	for (i = 0; i < ipi.nr_online; i++)
		if (ipi.online[i] == cpu)
			return true;
	return false;
}

static void online_path(char *path, size_t size, int cpu)
{
	snprintf(path, size, CPU_DIR "cpu%d/online", cpu);
}

bool ipi_can_offline(int cpu)
{
	char path[80];

	online_path(path, sizeof(path), cpu);
	return !access(path, W_OK);
}

int ipi_set_online(int cpu, bool on)
{
	char path[80];

	if (online_fd[cpu] <= 0) {
		online_path(path, sizeof(path), cpu);
		online_fd[cpu] = open(path, O_WRONLY | O_CLOEXEC);
		if (online_fd[cpu] < 0)
			return -errno;
	}
	if (pwrite(online_fd[cpu], on ? "1" : "0", 1, 0) != 1)
		return -errno;
	ipi_read_online();
	return 0;
}

void ipi_pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		ksft_exit_fail_msg("cannot run on CPU %d: %s\n", cpu, strerror(errno));
}

/* 0 or -errno */
int ipi_switch_write(const char *text)
{
	return pwrite(switch_fd, text, strlen(text), 0) < 0 ? -errno : 0;
}

char ipi_switch_read(void)
{
	char text[8];

	read_text(switch_file, text, sizeof(text));
	return text[0];
}

void ipi_switch_set(int position)
{
	const char *text = position == POS_ON ? "Y" : "N";

	if (position != POS_BASE && (ipi_switch_write(text) || ipi_switch_read() != *text))
		ksft_exit_fail_msg("cannot set %s\n", switch_file);
	/* for the module's model */
	if (broadcast_fd >= 0 && pwrite(broadcast_fd, text, 1, 0) != 1)
		ksft_exit_fail_msg("cannot set " DEBUGFS "broadcast\n");
}

/* A switch, open for writing, that is put back at the end; -1 if there is none */
int ipi_keep(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return -1;
	if (nr_kept == ARRAY_SIZE(kept) || pread(fd, &kept[nr_kept].was, 1, 0) != 1)
		ksft_exit_fail_msg("cannot read %s\n", path);
	kept[nr_kept++].fd = fd;
	return fd;
}

/* A module that was built with the tests, or -errno */
static int open_module(const char *name)
{
	char path[4096];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 64);
	int fd;

	if (len < 0)
		return -errno;
	path[len] = '\0';
	snprintf(strrchr(path, '/'), 64, "/test_modules/%s.ko", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

bool ipi_has_module(const char *name)
{
	int fd = open_module(name);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* 0 or -errno; -ENOENT if there is no module to load */
int ipi_load_module(const char *name, const char *params)
{
	int fd = open_module(name), err = 0;

	if (fd < 0)
		return fd;
	/* an earlier test that was killed may have left it */
	syscall(SYS_delete_module, name, O_NONBLOCK);
	if (syscall(SYS_finit_module, fd, params, 0))
		err = -errno;
	close(fd);
	return err;
}

int ipi_load(const char *params)
{
	int err = ipi_load_module(module, params);

	if (!err)
		loaded = 1;
	return err;
}

void ipi_unload(void)
{
	close_module();
	if (syscall(SYS_delete_module, module, O_NONBLOCK))
		ksft_exit_fail_msg("cannot unload %s: %s\n", module, strerror(errno));
	loaded = 0;
}

/* Another module and another switch than those of SGI broadcast; before ipi_init() */
void ipi_use(const char *module_name, const char *file)
{
	module = module_name;
	switch_file = file;
}

#if defined(__x86_64__) || defined(__i386)
static unsigned short marker;		/* an I/O port */

static void map_marker(void)
{
	const char *text = getenv("IPI_MARK");

	if (!text)
		return;
	marker = strtoul(text, NULL, 16);
	if (ioperm(marker, 4, 1))
		ksft_exit_fail_msg("IPI_MARK=%s: cannot use this port\n", text);
}

void ipi_mark(unsigned int value)
{
	if (marker)
		outl(value, marker);
}
#else
static unsigned int *marker;

static void map_marker(void)
{
	const char *text = getenv("IPI_MARK");
	unsigned long phys, size = sysconf(_SC_PAGESIZE);
	char *page;
	int fd;

	if (!text)
		return;
	phys = strtoul(text, NULL, 16);
	fd = open("/dev/mem", O_RDWR | O_SYNC | O_CLOEXEC);
	page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, phys & ~(size - 1));
	if (fd < 0 || page == MAP_FAILED)
		ksft_exit_fail_msg("IPI_MARK=%s: cannot map it from /dev/mem\n", text);
	close(fd);
	marker = (unsigned int *)(page + (phys & (size - 1)));
}

void ipi_mark(unsigned int value)
{
	if (marker)
		__atomic_store_n(marker, value, __ATOMIC_SEQ_CST);
}
#endif

/* Needs root, and sees that whatever a test changes is put back */
void ipi_init(unsigned int seconds)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGALRM, SIGSEGV, SIGABRT };
	char text[8];
	size_t i;

	if (geteuid())
		ksft_exit_skip("needs root\n");
	ipi_read_online();
	switch_fd = open(switch_file, O_RDWR | O_CLOEXEC);
	ipi.has_switch = switch_fd >= 0;
	if (ipi.has_switch) {
		read_text(switch_file, text, sizeof(text));
		switch_was = text[0];
	}
	atexit(restore);
	for (i = 0; i < ARRAY_SIZE(signals); i++)
		signal(signals[i], on_signal);
	ipi_time_limit(seconds);
}

/* "IPI1:  4 5  Function call interrupts": the number of each SGI; false if not GICv3 */
bool ipi_find_sgis(void)
{
	static const char * const reason[] = {
		[IPI_CALL] = "Function call interrupts",
		[IPI_WORK] = "IRQ work interrupts",
	};
	FILE *f = fopen("/proc/interrupts", "r");
	bool gicv3 = false;
	char *line = NULL;
	size_t size = 0;
	int i;

	while (f && getline(&line, &size, f) >= 0) {
		gicv3 |= !!strstr(line, " GICv3 ");
		for (i = 0; i < IPI_REASONS; i++)
			if (strstr(line, reason[i]))
				sscanf(line, " IPI%d:", &ipi_sgi[i]);
	}
	free(line);
	if (f)
		fclose(f);
	return gicv3 && ipi_sgi[IPI_CALL] >= 0;
}

static bool irq_file_is(const char *irq, const char *name, const char *value)
{
	char path[300], text[64];

	snprintf(path, sizeof(path), "/sys/kernel/irq/%s/%s", irq, name);
	read_text(path, text, sizeof(text));
	text[strcspn(text, "\n")] = '\0';
	return !strcmp(text, value);
}

static unsigned int find_call_irq(void)
{
	DIR *dir = opendir("/sys/kernel/irq");
	unsigned int irq = 0;
	struct dirent *d;
	char number[16];

	snprintf(number, sizeof(number), "%d", ipi_sgi[IPI_CALL]);
	while (dir && (d = readdir(dir)))
		if (irq_file_is(d->d_name, "chip_name", "GICv3") &&
		    irq_file_is(d->d_name, "actions", "IPI") &&
		    irq_file_is(d->d_name, "hwirq", number))
			irq = atoi(d->d_name);
	if (dir)
		closedir(dir);
	return irq;
}

static bool spans_clusters(const struct ipi_result *r)
{
	int i;

	for (i = 2; i < ipi.nr_online; i++)
		if ((r->cpu[ipi.online[1]].affinity ^ r->cpu[ipi.online[i]].affinity) & ~0xf)
			return true;
	return false;
}

/* The test module loaded, or the program is skipped */
void ipi_load_or_skip(void)
{
	int err;

	if (access("/proc/modules", F_OK))
		ksft_exit_skip("this kernel loads no modules: CONFIG_MODULES\n");
	err = ipi_load("");
	if (err == -ENOENT)
		ksft_exit_skip("no test_modules/%s.ko: build it with KDIR=\n", module);
	if (err == -EPERM)
		ksft_exit_skip("not allowed to load a module: locked down?\n");
	if (err == -EOPNOTSUPP)
		ksft_exit_skip("%s.ko cannot run on this kernel, see the kernel log\n", module);
	if (err)
		ksft_exit_fail_msg("cannot load %s.ko: %s, see the kernel log\n", module,
				   strerror(-err));
	map_marker();
}

/* The same with ipi_test and its files open */
void ipi_begin(unsigned int seconds)
{
	static struct ipi_result r;
	bool gicv3;

	ipi_init(seconds);
	ipi_load_or_skip();
	run_fd = open(DEBUGFS "run", O_WRONLY | O_CLOEXEC);
	result_fd = open(DEBUGFS "result", O_RDONLY | O_CLOEXEC);
	broadcast_fd = open(DEBUGFS "broadcast", O_WRONLY | O_CLOEXEC);
	if (run_fd < 0 || result_fd < 0 || broadcast_fd < 0)
		ksft_exit_skip("no " DEBUGFS ": debugfs is not mounted\n");
	gicv3 = ipi_find_sgis();
	ipi_read_result(&r);
	ipi.traced = r.traced;
	ipi.clusters = r.model;
	ipi.many_clusters = r.model && spans_clusters(&r);
	ipi.witness = r.model && gicv3;
	if (ipi.traced && gicv3)
		ipi.call_irq = find_call_irq();
}

void ipi_read_result(struct ipi_result *r)
{
	static char text[256 * (MAX_CPUS + 1)];
	char *line = text;
	struct ipi_cpu c;
	unsigned int cpu;
	ssize_t len, sum = 0;

	memset(r, 0, sizeof(*r));
	lseek(result_fd, 0, SEEK_SET);
	while ((len = read(result_fd, text + sum, sizeof(text) - 1 - sum)) > 0)
		sum += len;
	text[sum] = '\0';
	if (sscanf(line, "%*s %*s %*s partial=%u irm=%d list=%d traced=%d model=%d",
		   &r->partial, &r->irm, &r->list, &r->traced, &r->model) != 5)
		ksft_exit_fail_msg("cannot read " DEBUGFS "result: %s\n", text);
	while ((line = strchr(line, '\n')) &&
	       sscanf(++line, CPU_LINE, &cpu, &c.sent, &c.calls,
		      &c.entered, &c.raised, &c.affinity, &c.irm[0], &c.list[0],
		      &c.irm[1], &c.list[1], &c.stale, &c.others) == 12)
		if (cpu < MAX_CPUS)
			r->cpu[cpu] = c;
}

/* 0 or -errno */
int ipi_command(const char *command)
{
	return pwrite(run_fd, command, strlen(command), 0) < 0 ? -errno : 0;
}

/*
 * How many IPIs each CPU may have taken over what was raised for it. Not 0 after
 * hotplug: tracepoints are silent on a CPU that is not online, but it may send.
 */
static int slack[MAX_CPUS];

/* SGIs that arrive together are taken once, so fewer may be taken than raised */
bool ipi_no_stray(int cpu)
{
	static struct ipi_result r;

	ipi_read_result(&r);
	if (r.cpu[cpu].entered - r.cpu[cpu].raised <= slack[cpu])
		return true;
	ksft_print_msg("CPU %d took %d IPIs, %d were raised for it (and %d not seen)\n", cpu,
		       r.cpu[cpu].entered, r.cpu[cpu].raised, slack[cpu]);
	return false;
}

/* After hotplug: takes the counts as they are, but those of one CPU */
void ipi_forget_strays(int except)
{
	static struct ipi_result r;
	int cpu, sample, more;

	for (sample = 0; sample < 3; sample++) {
		/* what was raised and not taken yet */
		usleep(20000);
		ipi_read_result(&r);
		for (cpu = 0; cpu < MAX_CPUS; cpu++) {
			more = r.cpu[cpu].entered - r.cpu[cpu].raised;
			if (cpu != except && (!sample || more > slack[cpu]))
				slack[cpu] = more;
		}
	}
}

static struct ipi_cpu writes_now(int cpu)
{
	static struct ipi_result r;

	ipi_read_result(&r);
	return r.cpu[cpu];
}

static bool same_writes(const struct ipi_cpu *a, const struct ipi_cpu *b, int reason)
{
	return a->irm[reason] == b->irm[reason] && a->list[reason] == b->list[reason];
}

/*
 * The model is read on both sides of each marker. If the sender wrote anything
 * in between, the outside may have counted it on the other side: not clean.
 */
void ipi_bracket_begin(struct ipi_bracket *b, int sender, int reason)
{
	static unsigned int seq;
	struct ipi_cpu before;

	if (seq > 0xff)
		ksft_exit_fail_msg("out of marker numbers\n");
	b->id = (getpid() & 0xfff) << 8 | seq++;
	b->sender = sender;
	b->reason = reason;
	before = writes_now(sender);
	ipi_mark(0x1b000000 | b->id);
	b->start = writes_now(sender);
	b->clean = same_writes(&before, &b->start, reason);
}

void ipi_bracket_end(struct ipi_bracket *b)
{
	struct ipi_cpu end = writes_now(b->sender), after;

	ipi_mark(0x1e000000 | b->id);
	after = writes_now(b->sender);
	b->clean &= same_writes(&end, &after, b->reason);
	b->irm = end.irm[b->reason] - b->start.irm[b->reason];
	b->list = end.list[b->reason] - b->start.list[b->reason];
}

void ipi_bracket_print(const struct ipi_bracket *b, const char *name,
		       unsigned int rounds, unsigned int partial)
{
	if (ipi.witness && ipi_sgi[b->reason] >= 0)
		ksft_print_msg(WITNESS_LINE, b->id, name, ipi_sgi[b->reason], b->start.affinity,
			       b->irm, b->list, rounds, partial);
}

static bool raised_for(const struct ipi_run *run, int cpu)
{
	if (cpu == run->plus)
		return true;
	/* a call function to oneself is just called */
	return run->expected[cpu] &&
		(cpu != run->sender || run->bare_irq || run->self_ipi);
}

/* The register writes of one round, by what is documented of them */
static void expected_writes(const struct ipi_run *run, const struct ipi_result *r,
			    int *irm, int *list)
{
	bool all_others = true;
	int cpu, last = -1;

	*irm = 0;
	*list = 0;
	for (cpu = 0; cpu < MAX_CPUS; cpu++) {
		if (!raised_for(run, cpu)) {
			all_others &= cpu == run->sender || !ipi_is_online(cpu);
			continue;
		}
		if (last < 0 || (r->cpu[last].affinity ^ r->cpu[cpu].affinity) & ~0xf)
			++*list;
		last = cpu;
	}
	if (run->position == POS_ON && *list > 1 && all_others) {
		*irm = 1;
		*list = raised_for(run, run->sender);
	}
}

static bool counts_exact(const struct ipi_run *run, const struct ipi_result *r)
{
	bool exact = true;
	unsigned int want;
	int cpu;

	for (cpu = 0; cpu < MAX_CPUS; cpu++) {
		want = run->expected[cpu] ? run->rounds : 0;
		if (r->cpu[cpu].calls == want)
			continue;
		ksft_print_msg("%s: CPU %d got %u, not %u\n", run->name, cpu,
			       r->cpu[cpu].calls, want);
		exact = false;
	}
	return exact;
}

static bool writes_exact(const struct ipi_run *run, const struct ipi_result *r)
{
	int irm, list;

	if (!ipi.witness)
		return true;
	expected_writes(run, r, &irm, &list);
	if (r->irm == irm * (int)(run->rounds - r->partial) &&
	    (r->partial || r->list == list * (int)run->rounds))
		return true;
	ksft_print_msg("%s: %d broadcasts and %d target lists in %u rounds, %u partial\n",
		       run->name, r->irm, r->list, run->rounds, r->partial);
	ksft_print_msg("%s: wanted %d and %d a round\n", run->name, irm, list);
	return false;
}

/*
 * One run of the module between two markers; false if anything but what is
 * expected arrived. Another task that sends from the same CPU makes its
 * figures unfit for a comparison: then once more.
 */
bool ipi_run(const struct ipi_run *run)
{
	static struct ipi_result r;
	struct ipi_bracket b;
	int attempt, cpu, err;
	char command[200];
	bool ok;

	ipi_pin(run->sender);
	ipi_switch_set(run->position);
	snprintf(command, sizeof(command), "%s rounds=%u", run->command, run->rounds);
	for (attempt = 0; attempt < ATTEMPTS; attempt++) {
		ipi_bracket_begin(&b, run->sender, run->self_ipi ? IPI_WORK : IPI_CALL);
		err = ipi_command(command);
		ipi_bracket_end(&b);
		if (err == -ETIMEDOUT)
			ksft_exit_fail_msg("%s: an IPI did not arrive, see the kernel log\n",
					   run->name);
		if (err) {
			ksft_print_msg("%s: %s: %s\n", run->name, command, strerror(-err));
			return false;
		}
		ipi_read_result(&r);
		if (!counts_exact(run, &r) || !writes_exact(run, &r))
			return false;
		if (b.clean && r.partial <= run->rounds / 10)
			break;
	}
	if (attempt == ATTEMPTS) {
		ksft_print_msg("%s: %u of %u rounds disturbed by other senders\n", run->name,
			       r.partial, run->rounds);
		return false;
	}
	ipi_bracket_print(&b, run->name, run->rounds, r.partial);

	ok = true;
	for (cpu = 0; ipi.traced && cpu < ipi.nr_online; cpu++)
		ok &= ipi_no_stray(ipi.online[cpu]);
	return ok;
}
