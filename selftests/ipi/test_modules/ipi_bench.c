// SPDX-License-Identifier: GPL-2.0
/*
 * Measures what IPIs cost. In /sys/kernel/debug/ipi_bench/:
 *
 *   run      write "case=all_but_self rounds=100": does that, from the CPU that
 *            the writer is pinned to, and returns at the end.
 *            case=one, storm_one: also cpu=N, the target.
 *            timeout_ms=N: how long the CPUs have to answer in a round.
 *   samples  what the last run took, a struct sample for each call
 *
 * The cases:
 *
 *   dry           sends nothing: the cost of the measurement
 *   self          an irq_work to the sender itself
 *   one           a call function to one CPU
 *   all_but_self  ... to all other CPUs
 *   everyone      ... to all CPUs
 *   lock          ... to all other CPUs, and each takes the same lock
 *   loop          data is stored, and one CPU after the other is called for it
 *                 and waited for; a sample is a pass over all CPUs
 *   storm_one     a thread on each other CPU calls the target, and waits
 *   storm_all     a thread on each CPU calls all others, and waits
 *
 * CPUs may come and go during a run: a round has those that are online when it
 * is sent. A run whose target goes offline ends with -ENXIO.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/completion.h>
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#define NO_CPU		UINT_MAX
#define CASES		"dry self one all_but_self everyone lock loop storm_one storm_all"
#define MAX_SAMPLES	1000000
#define MAX_TIMEOUT	10000

enum { DRY, SELF, ONE, ALL_BUT_SELF, EVERYONE, LOCK, LOOP, STORM_ONE, STORM_ALL };
static const char * const cases[] = {
	"dry", "self", "one", "all_but_self", "everyone", "lock", "loop", "storm_one", "storm_all",
};

/* In ns: until the sender could go on, and until the function had run everywhere */
struct sample {
	u64 sent, done;
};

struct run {
	int kind;
	unsigned int rounds, cpu, timeout_ms;
};

struct storm {
	struct task_struct *task;
	struct sample *samples;
	unsigned int done;
	int err;
};

static DEFINE_MUTEX(run_lock);
static struct run run;
static struct sample *samples;
static unsigned int nr_samples;
static bool lost;

static cpumask_var_t run_mask;
static unsigned int round_nr;
static DEFINE_PER_CPU(unsigned int, seen);
static DEFINE_RAW_SPINLOCK(shared_lock);

static struct {
	unsigned int value;
} ____cacheline_aligned_in_smp data[7];

static atomic_t storm_left;
static DECLARE_COMPLETION(storm_end);

static struct dentry *dir;

static void see(void *unused)
{
	this_cpu_write(seen, READ_ONCE(round_nr));
}

static void see_locked(void *unused)
{
	raw_spin_lock(&shared_lock);
	see(NULL);
	raw_spin_unlock(&shared_lock);
}

static void nothing(void *unused)
{
}

static void work_seen(struct irq_work *work)
{
	see(NULL);
}

static struct irq_work self_work = IRQ_WORK_INIT_HARD(work_seen);

/* Who runs the function in this round; no CPU goes offline meanwhile */
static int fill_mask(void)
{
	unsigned int self = smp_processor_id();

	cpumask_clear(run_mask);
	switch (run.kind) {
	case DRY:
		return 0;
	case SELF:
		cpumask_set_cpu(self, run_mask);
		return 0;
	case ONE:
		cpumask_set_cpu(run.cpu, run_mask);
		return cpu_online(run.cpu) ? 0 : -ENXIO;
	}
	cpumask_copy(run_mask, cpu_online_mask);
	if (run.kind != EVERYONE)
		cpumask_clear_cpu(self, run_mask);
	return 0;
}

static void send(void)
{
	switch (run.kind) {
	case SELF:
		irq_work_queue(&self_work);
		break;
	case ONE:
		smp_call_function_single(run.cpu, see, NULL, 0);
		break;
	case ALL_BUT_SELF:
		smp_call_function_many(run_mask, see, NULL, 0);
		break;
	case EVERYONE:
		on_each_cpu_mask(run_mask, see, NULL, 0);
		break;
	case LOCK:
		smp_call_function_many(run_mask, see_locked, NULL, 0);
		break;
	}
}

/* Spins like a caller who waits, but not for ever */
static int wait_for_all(void)
{
	unsigned long end = jiffies + msecs_to_jiffies(run.timeout_ms);
	unsigned int cpu;

	for_each_cpu(cpu, run_mask) {
		while (READ_ONCE(per_cpu(seen, cpu)) != round_nr) {
			cpu_relax();
			if (!time_after(jiffies, end))
				continue;
			pr_err("case=%s: no answer of CPU %u within %u ms\n",
			       cases[run.kind], cpu, run.timeout_ms);
			/* it may come yet, and must find its function */
			lost = true;
			__module_get(THIS_MODULE);
			return -ETIMEDOUT;
		}
	}
	return 0;
}

static int one_round(struct sample *sample)
{
	u64 start;
	int err;

	preempt_disable();
	err = fill_mask();
	if (!err) {
		WRITE_ONCE(round_nr, round_nr + 1);
		start = ktime_get_ns();
		send();
		sample->sent = ktime_get_ns() - start;
		err = wait_for_all();
		sample->done = ktime_get_ns() - start;
	}
	preempt_enable();
	return err;
}

/* No time for the sender alone: it waits after each call */
static int one_pass(struct sample *sample)
{
	unsigned int cpu, i;
	u64 start;

	preempt_disable();
	start = ktime_get_ns();
	for_each_online_cpu(cpu) {
		for (i = 0; i < ARRAY_SIZE(data); i++)
			WRITE_ONCE(data[i].value, cpu);
		smp_call_function_single(cpu, nothing, NULL, 1);
	}
	sample->done = ktime_get_ns() - start;
	preempt_enable();
	return 0;
}

static int run_rounds(void)
{
	int err = 0;

	while (nr_samples < run.rounds && !err) {
		cond_resched();
		if (signal_pending(current))
			return -EINTR;
		if (run.kind == LOOP)
			err = one_pass(&samples[nr_samples]);
		else
			err = one_round(&samples[nr_samples]);
		if (!err)
			nr_samples++;
	}
	return err;
}

static int storm_thread(void *arg)
{
	struct storm *s = arg;
	u64 start;

	while (s->done < run.rounds && !s->err && !kthread_should_stop()) {
		preempt_disable();
		start = ktime_get_ns();
		if (run.kind == STORM_ONE)
			s->err = smp_call_function_single(run.cpu, nothing, NULL, 1);
		else
			smp_call_function_many(cpu_online_mask, nothing, NULL, true);
		s->samples[s->done].done = ktime_get_ns() - start;
		preempt_enable();
		if (!s->err)
			s->done++;
		cond_resched();
	}
	if (atomic_dec_and_test(&storm_left))
		complete(&storm_end);
	return 0;
}

/* The samples of all threads, moved together */
static int storm_collect(struct storm *storms, unsigned int threads)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < threads; i++) {
		memmove(samples + nr_samples, storms[i].samples,
			storms[i].done * sizeof(*samples));
		nr_samples += storms[i].done;
		err = err ?: storms[i].err;
	}
	return err;
}

static int run_storm(const struct cpumask *senders)
{
	unsigned int cpu, threads = 0, i;
	struct storm *storms;
	int err = 0;

	storms = kcalloc(cpumask_weight(senders), sizeof(*storms), GFP_KERNEL);
	if (!storms)
		return -ENOMEM;
	for_each_cpu(cpu, senders) {
		struct storm *s = &storms[threads];

		s->samples = samples + threads * run.rounds;
		s->task = kthread_create(storm_thread, s, "ipi_bench/%u", cpu);
		if (IS_ERR(s->task)) {
			err = PTR_ERR(s->task);
			break;
		}
		/* it may end before it is stopped */
		get_task_struct(s->task);
		kthread_bind(s->task, cpu);
		threads++;
	}

	reinit_completion(&storm_end);
	atomic_set(&storm_left, threads);
	for (i = 0; i < threads && !err; i++)
		wake_up_process(storms[i].task);
	if (!err)
		err = wait_for_completion_interruptible(&storm_end) ? -EINTR : 0;
	for (i = 0; i < threads; i++) {
		kthread_stop(storms[i].task);
		put_task_struct(storms[i].task);
	}
	err = err ?: storm_collect(storms, threads);
	kfree(storms);
	return err;
}

static int bad(const char *what, const char *value, const char *want)
{
	pr_err("%s=%s: %s\n", what, value, want);
	return -EINVAL;
}

static int parse_word(struct run *r, char *word)
{
	char *key = strsep(&word, "=");
	unsigned int n;

	if (!word)
		return bad("run", key, "give key=value words");
	if (!strcmp(key, "case")) {
		r->kind = match_string(cases, ARRAY_SIZE(cases), word);
		if (r->kind < 0)
			return bad(key, word, CASES);
		return 0;
	}
	if (kstrtouint(word, 0, &n))
		return bad(key, word, "give a number");
	if (!strcmp(key, "rounds")) {
		if (n < 1 || n > MAX_SAMPLES)
			return bad(key, word, "give a number from 1 to 1000000");
		r->rounds = n;
	} else if (!strcmp(key, "timeout_ms")) {
		if (n < 1 || n > MAX_TIMEOUT)
			return bad(key, word, "give a number from 1 to 10000");
		r->timeout_ms = n;
	} else if (!strcmp(key, "cpu")) {
		if (n >= nr_cpu_ids || !cpu_online(n))
			return bad(key, word, "give an online CPU");
		r->cpu = n;
	} else {
		return bad(key, word, "known: case rounds cpu timeout_ms");
	}
	return 0;
}

static int parse(struct run *r, char *text)
{
	bool has_cpu;
	char *word;
	int err;

	while ((word = strsep(&text, "\n "))) {
		err = *word ? parse_word(r, word) : 0;
		if (err)
			return err;
	}
	if (r->kind < 0)
		return bad("case", "", "missing");
	has_cpu = r->cpu != NO_CPU;
	if (has_cpu != (r->kind == ONE || r->kind == STORM_ONE))
		return bad("case", cases[r->kind], "cpu= is for one and storm_one");
	if (cpumask_weight(current->cpus_ptr) != 1)
		return bad("run", current->comm, "the writer must be pinned to one CPU");
	return 0;
}

static int start(char *text)
{
	struct run r = { .kind = -1, .rounds = 100, .cpu = NO_CPU, .timeout_ms = MAX_TIMEOUT };
	unsigned int senders = 1;
	bool storm;
	int err;

	if (lost) {
		pr_err("an earlier IPI was lost: reboot\n");
		return -EIO;
	}
	err = parse(&r, text);
	if (err)
		return err;

	storm = r.kind == STORM_ONE || r.kind == STORM_ALL;
	if (storm) {
		cpumask_copy(run_mask, cpu_online_mask);
		if (r.kind == STORM_ONE)
			cpumask_clear_cpu(r.cpu, run_mask);
		senders = cpumask_weight(run_mask);
		if (!senders)
			return bad("case", cases[r.kind], "needs two CPUs online");
	}
	if (r.rounds > MAX_SAMPLES / senders) {
		pr_err("rounds=%u: give at most %u with %u senders\n", r.rounds,
		       MAX_SAMPLES / senders, senders);
		return -EINVAL;
	}

	vfree(samples);
	nr_samples = 0;
	samples = vcalloc(r.rounds * senders, sizeof(*samples));
	if (!samples)
		return -ENOMEM;
	run = r;
	return storm ? run_storm(run_mask) : run_rounds();
}

static ssize_t run_write(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	char *text;
	int err;

	if (len > 200)
		return -EINVAL;
	text = memdup_user_nul(buf, len);
	if (IS_ERR(text))
		return PTR_ERR(text);
	err = mutex_lock_interruptible(&run_lock);
	if (!err) {
		err = start(text);
		mutex_unlock(&run_lock);
	}
	kfree(text);
	return err ?: len;
}

static const struct file_operations run_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = run_write,
};

static ssize_t samples_read(struct file *file, char __user *buf, size_t len, loff_t *pos)
{
	ssize_t ret = mutex_lock_interruptible(&run_lock);

	if (ret)
		return ret;
	ret = simple_read_from_buffer(buf, len, pos, samples, nr_samples * sizeof(*samples));
	mutex_unlock(&run_lock);
	return ret;
}

static const struct file_operations samples_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = samples_read,
	.llseek = default_llseek,
};

static int __init ipi_bench_init(void)
{
	if (!zalloc_cpumask_var(&run_mask, GFP_KERNEL))
		return -ENOMEM;
	dir = debugfs_create_dir("ipi_bench", NULL);
	debugfs_create_file("run", 0200, dir, NULL, &run_fops);
	debugfs_create_file("samples", 0400, dir, NULL, &samples_fops);
	return 0;
}

static void __exit ipi_bench_exit(void)
{
	debugfs_remove(dir);
	irq_work_sync(&self_work);
	vfree(samples);
	free_cpumask_var(run_mask);
}

module_init(ipi_bench_init);
module_exit(ipi_bench_exit);

MODULE_DESCRIPTION("Measures what IPIs cost");
MODULE_LICENSE("GPL");
