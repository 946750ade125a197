// SPDX-License-Identifier: GPL-2.0
/*
 * Sends IPIs by all kinds of masks on request, and counts on each CPU what
 * arrives. In /sys/kernel/debug/ipi_test/:
 *
 *   run        write "kind=all_but_self rounds=100 wait=0": sends from the CPU
 *              that the writer is pinned to, and returns when all has arrived.
 *              kind=one, cluster, all_but_one: also cpu=N, the target, a CPU of
 *              the cluster, or the CPU left out.
 *              irq=N: not a call function but the bare IPI of that number;
 *              with plus=N, an offline CPU, in the mask.
 *              message=1: data is stored right before each IPI, and whoever
 *              takes it has to see it. message=2: it is stored when the IPI
 *              has been taken, so that nobody can: this tests the test.
 *   result     what the last run sent, and what arrived
 *   broadcast  how the switch of SGI broadcast is set, for the model below
 *
 * Where the tracepoints ipi_raise and ipi_entry exist, it also counts each IPI
 * that is raised and taken, by anybody, and works out the writes to
 * ICC_SGI1R_EL1 that a GICv3 needs for it.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/irq.h>
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <linux/uaccess.h>

#if defined(CONFIG_ARM64) || defined(CONFIG_ARM)
#include <asm/cputype.h>
#define HAVE_AFFINITY	1
#else
#define HAVE_AFFINITY	0
#endif

#define NO_CPU		UINT_MAX
#define MAX_ROUNDS	1000000

struct range_param {
	unsigned int value, min, max;
};

static struct range_param rounds = { 100, 1, MAX_ROUNDS };
static struct range_param timeout_ms = { 10000, 1, 600000 };

static int range_set(const char *val, const struct kernel_param *kp)
{
	struct range_param *p = kp->arg;
	unsigned int n;

	if (kstrtouint(val, 0, &n) || n < p->min || n > p->max) {
		pr_err("%s=%s: give a number from %u to %u\n", kp->name,
		       val, p->min, p->max);
		return -EINVAL;
	}
	p->value = n;
	return 0;
}

static int range_get(char *buf, const struct kernel_param *kp)
{
	struct range_param *p = kp->arg;

	return sysfs_emit(buf, "%u\n", p->value);
}

static const struct kernel_param_ops range_ops = {
	.set = range_set,
	.get = range_get,
};

module_param_cb(rounds, &range_ops, &rounds, 0444);
MODULE_PARM_DESC(rounds, "Rounds of a run that does not say how many (1 to 1000000)");
module_param_cb(timeout_ms, &range_ops, &timeout_ms, 0444);
MODULE_PARM_DESC(timeout_ms, "Time a round has to arrive, in ms (1 to 600000)");

/* The IPIs that are looked at, as the tracepoints name them */
enum { CALL, WORK, REASONS };
static const char * const reasons[REASONS] = {
	[CALL] = "Function call interrupts",
	[WORK] = "IRQ work interrupts",
};

struct writes {
	atomic_t irm, list;
};

struct counts {
	/* of the last run */
	unsigned int sent, seen, raised_before, got;
	atomic_t calls, stale;
	/* since the module was loaded; call functions only */
	atomic_t raised, entered;
	/* as a sender */
	struct writes writes[REASONS];
	unsigned int affinity;
};

static DEFINE_PER_CPU(struct counts, counts);

enum kind { ONE, SELF, CLUSTER, ALL_BUT_ONE, ALL_BUT_SELF, EVERYONE };
static const char * const kinds[] = {
	"one", "self", "cluster", "all_but_one", "all_but_self", "everyone",
};

struct run {
	int kind;
	unsigned int rounds, wait, cpu, irq, plus, message;
	/* the outcome */
	unsigned int sender, done, partial;
	struct writes writes;
};

static DEFINE_MUTEX(run_lock);
static struct run run = { .kind = ONE };

/* Stored before an IPI: seven cache lines, so that there is something to wait for */
static struct {
	unsigned int value;
} ____cacheline_aligned_in_smp message[7];
/* what they hold when the IPI of this round arrives */
static unsigned int message_wanted;
static bool lost;
static cpumask_var_t run_mask, run_others;
static struct task_struct *armed;
static bool raised_all;
static bool broadcast;
static struct tracepoint *tp_raise, *tp_entry;
static struct dentry *dir;

static unsigned int cluster_of(unsigned int cpu)
{
	return per_cpu(counts, cpu).affinity & ~0xfU;
}

/*
 * The writes that a GICv3 needs for this mask: one for each run of CPUs of the
 * same cluster, or a broadcast if there would be two or more and all online
 * CPUs but the sender are in the mask.
 */
static void model(const struct cpumask *mask, unsigned int sender,
		  unsigned int *irm, unsigned int *list)
{
	unsigned int cpu, cluster = 0;

	*irm = 0;
	*list = 0;
	for_each_cpu(cpu, mask) {
		if (!*list || cluster_of(cpu) != cluster)
			++*list;
		cluster = cluster_of(cpu);
	}
	if (!broadcast || *list < 2)
		return;
	for_each_online_cpu(cpu)
		if (cpu != sender && !cpumask_test_cpu(cpu, mask))
			return;
	*irm = 1;
	*list = cpumask_test_cpu(sender, mask);
}

static void add_writes(struct writes *w, unsigned int irm, unsigned int list)
{
	atomic_add(irm, &w->irm);
	atomic_add(list, &w->list);
}

static void count_raise(const struct cpumask *mask, int reason)
{
	unsigned int cpu, irm, list, self = raw_smp_processor_id();

	if (reason == CALL)
		for_each_cpu(cpu, mask)
			atomic_inc(&per_cpu(counts, cpu).raised);

	model(mask, self, &irm, &list);
	add_writes(&per_cpu(counts, self).writes[reason], irm, list);

	if (READ_ONCE(armed) == current && in_task() &&
	    reason == (run.kind == SELF ? WORK : CALL)) {
		add_writes(&run.writes, irm, list);
		if (cpumask_equal(mask, run_others))
			raised_all = true;
	}
}

static void probe_raise(void *data, const struct cpumask *mask, const char *reason)
{
	int i;

	for (i = 0; i < REASONS; i++)
		if (!strcmp(reason, reasons[i]))
			count_raise(mask, i);
}

/* No barrier here: the one under test is in the driver, before it sends */
static void write_message(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(message); i++)
		WRITE_ONCE(message[i].value, message_wanted);
}

static void read_message(void)
{
	struct counts *c = this_cpu_ptr(&counts);
	unsigned int want = READ_ONCE(message_wanted);
	int i;

	/* the line that was stored last comes first */
	for (i = ARRAY_SIZE(message) - 1; i >= 0; i--) {
		if (READ_ONCE(message[i].value) != want) {
			atomic_inc(&c->stale);
			return;
		}
	}
	WRITE_ONCE(c->got, want);
}

static void probe_entry(void *data, const char *reason)
{
	if (strcmp(reason, reasons[CALL]))
		return;
	/* a bare IPI has no function that could look */
	if (run.irq && run.message)
		read_message();
	atomic_inc(&this_cpu_ptr(&counts)->entered);
}

static void arrived(void *unused)
{
	if (run.message)
		read_message();
	atomic_inc(&this_cpu_ptr(&counts)->calls);
}

static void work_arrived(struct irq_work *work)
{
	arrived(NULL);
}

static struct irq_work self_work = IRQ_WORK_INIT_HARD(work_arrived);

static void fill_mask(void)
{
	unsigned int cpu;

	cpumask_clear(run_mask);
	for_each_online_cpu(cpu) {
		bool in = true;

		switch (run.kind) {
		case ONE:
			in = cpu == run.cpu;
			break;
		case SELF:
			in = cpu == run.sender;
			break;
		case CLUSTER:
			in = cluster_of(cpu) == cluster_of(run.cpu);
			break;
		case ALL_BUT_ONE:
			in = cpu != run.cpu;
			break;
		case ALL_BUT_SELF:
			in = cpu != run.sender;
			break;
		}
		if (in)
			cpumask_set_cpu(cpu, run_mask);
	}

	/* what is to be raised: a call function to oneself is just called */
	cpumask_copy(run_others, run_mask);
	if (run.plus != NO_CPU)
		cpumask_set_cpu(run.plus, run_others);
	if (!run.irq && run.kind != SELF)
		cpumask_clear_cpu(run.sender, run_others);
}

#ifdef CONFIG_GENERIC_IRQ_IPI
static bool is_ipi(unsigned int irq)
{
	struct irq_data *d = irq_get_irq_data(irq);

	return d && irq_data_get_irq_chip(d)->ipi_send_mask &&
		cpumask_subset(cpu_possible_mask, irq_data_get_affinity_mask(d));
}

static int send_bare(void)
{
	/* this way passes by ipi_raise */
	count_raise(run_others, CALL);
	return ipi_send_mask(run.irq, run_others);
}
#else
static bool is_ipi(unsigned int irq)
{
	return false;
}

static int send_bare(void)
{
	return -EOPNOTSUPP;
}
#endif

static int send(void)
{
	if (run.irq)
		return send_bare();

	switch (run.kind) {
	case ONE:
		return smp_call_function_single(run.cpu, arrived, NULL, run.wait);
	case SELF:
		irq_work_queue(&self_work);
		return 0;
	case ALL_BUT_SELF:
		smp_call_function_many(run_mask, arrived, NULL, run.wait);
		return 0;
	default:
		on_each_cpu_mask(run_mask, arrived, NULL, run.wait);
		return 0;
	}
}

static bool has_arrived(struct counts *c)
{
	/* an IPI that overtook its message does not come again: this times out */
	if (run.message == 1 && READ_ONCE(c->got) != message_wanted)
		return false;
	if (!run.irq)
		return atomic_read(&c->calls) == c->sent;
	if (atomic_read(&c->entered) == c->seen)
		return false;
	atomic_inc(&c->calls);
	return true;
}

/* So that the next round finds all queues empty and its mask is raised whole */
static int wait_for_arrival(void)
{
	unsigned long end = jiffies + msecs_to_jiffies(timeout_ms.value);
	unsigned int cpu, spins;

	for_each_cpu(cpu, run_mask) {
		for (spins = 0; !has_arrived(per_cpu_ptr(&counts, cpu)); spins++) {
			if (time_after(jiffies, end)) {
				pr_err("kind=%s: nothing arrived at CPU %u within %u ms, round %u\n",
				       kinds[run.kind], cpu, timeout_ms.value, run.done);
				return -ETIMEDOUT;
			}
			if (spins < 1000)
				cpu_relax();
			else
				usleep_range(20, 100);
		}
	}
	return 0;
}

static int one_round(void)
{
	unsigned int cpu, spins;
	int err;

	/* CPUs take what softirqs here sent them: an emulator runs them by turns */
	for (spins = 0; spins < num_online_cpus(); spins++)
		cpu_relax();

	/* no CPU of the mask goes offline until it is sent, or with a call not made */
	preempt_disable();
	fill_mask();
	for_each_cpu(cpu, run_mask) {
		per_cpu(counts, cpu).sent++;
		per_cpu(counts, cpu).seen = atomic_read(&per_cpu(counts, cpu).entered);
	}
	/* nobody may take the message of the last round for this one's */
	WRITE_ONCE(message_wanted, message_wanted + 1);
	/* orders the store above before those of the message; pairs with the IPI */
	smp_mb();
	raised_all = !tp_raise || cpumask_empty(run_others);
	WRITE_ONCE(armed, current);
	if (run.message == 1)
		write_message();
	err = send();
	WRITE_ONCE(armed, NULL);
	preempt_enable();

	if (!err) {
		run.partial += !raised_all;
		err = wait_for_arrival();
		if (run.message == 2)
			write_message();
		if (err) {
			/* the call may arrive yet: it must find its function */
			lost = true;
			__module_get(THIS_MODULE);
		}
	}
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
	if (!strcmp(key, "kind")) {
		r->kind = match_string(kinds, ARRAY_SIZE(kinds), word);
		if (r->kind < 0)
			return bad(key, word, "one self cluster all_but_one all_but_self everyone");
		return 0;
	}
	if (kstrtouint(word, 0, &n))
		return bad(key, word, "give a number");
	if (!strcmp(key, "rounds")) {
		if (n < 1 || n > MAX_ROUNDS)
			return bad(key, word, "give a number from 1 to 1000000");
		r->rounds = n;
	} else if (!strcmp(key, "wait")) {
		if (n > 1)
			return bad(key, word, "give 0 or 1");
		r->wait = n;
	} else if (!strcmp(key, "message")) {
		if (n > 2)
			return bad(key, word, "give 0, 1 or 2");
		r->message = n;
	} else if (!strcmp(key, "cpu")) {
		if (n >= nr_cpu_ids || !cpu_online(n))
			return bad(key, word, "give an online CPU");
		r->cpu = n;
	} else if (!strcmp(key, "plus")) {
		if (n >= nr_cpu_ids || !cpu_possible(n) || cpu_online(n))
			return bad(key, word, "give an offline CPU");
		r->plus = n;
	} else if (!strcmp(key, "irq")) {
		if (!is_ipi(n) || !tp_entry)
			return bad(key, word, "give an IPI, on a kernel with ipi tracepoints");
		r->irq = n;
	} else {
		return bad(key, word, "known: kind rounds wait cpu irq plus message");
	}
	return 0;
}

static bool takes_cpu(int kind)
{
	return kind == ONE || kind == CLUSTER || kind == ALL_BUT_ONE;
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
		return bad("kind", "", "missing");
	has_cpu = r->cpu != NO_CPU;
	if (takes_cpu(r->kind) != has_cpu)
		return bad("kind", kinds[r->kind], "cpu= is for one, cluster and all_but_one");
	if (r->kind == CLUSTER && !HAVE_AFFINITY)
		return bad("kind", kinds[r->kind], "this machine has no such clusters");
	if (r->plus != NO_CPU && !r->irq)
		return bad("plus", "", "needs irq=");
	if (cpumask_weight(current->cpus_ptr) != 1)
		return bad("run", current->comm, "the writer must be pinned to one CPU");
	r->sender = cpumask_first(current->cpus_ptr);
	return 0;
}

static int start(char *text)
{
	struct run r = {
		.kind = -1,
		.rounds = rounds.value,
		.cpu = NO_CPU,
		.plus = NO_CPU,
	};
	unsigned int cpu;
	int err;

	if (lost) {
		pr_err("an earlier IPI was lost: reboot\n");
		return -EIO;
	}
	err = parse(&r, text);
	if (err)
		return err;

	run = r;
	for_each_possible_cpu(cpu) {
		per_cpu(counts, cpu).sent = 0;
		per_cpu(counts, cpu).raised_before = atomic_read(&per_cpu(counts, cpu).raised);
		atomic_set(&per_cpu(counts, cpu).calls, 0);
		atomic_set(&per_cpu(counts, cpu).stale, 0);
	}
	for (; run.done < run.rounds; run.done++) {
		if (signal_pending(current))
			return -EINTR;
		err = one_round();
		if (err)
			return err;
	}
	return 0;
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
	mutex_lock(&run_lock);
	err = start(text);
	mutex_unlock(&run_lock);
	kfree(text);
	return err ?: len;
}

static const struct file_operations run_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = run_write,
};

static int result_show(struct seq_file *s, void *unused)
{
	unsigned int cpu;
	int i;

	seq_printf(s, "kind=%s sender=%u rounds=%u partial=%u irm=%d list=%d traced=%d model=%d\n",
		   kinds[run.kind], run.sender, run.done, run.partial,
		   atomic_read(&run.writes.irm), atomic_read(&run.writes.list),
		   tp_raise && tp_entry, tp_raise && HAVE_AFFINITY);
	for_each_possible_cpu(cpu) {
		struct counts *c = per_cpu_ptr(&counts, cpu);

		seq_printf(s, "cpu=%u sent=%u calls=%d entered=%d raised=%d affinity=0x%x",
			   cpu, c->sent, atomic_read(&c->calls), atomic_read(&c->entered),
			   atomic_read(&c->raised), c->affinity);
		for (i = 0; i < REASONS; i++)
			seq_printf(s, " irm%d=%d list%d=%d", i, atomic_read(&c->writes[i].irm),
				   i, atomic_read(&c->writes[i].list));
		/* the IPI of anybody else may come before the message of a bare one */
		seq_printf(s, " stale=%d others=%u\n", atomic_read(&c->stale), run.irq ?
			   atomic_read(&c->raised) - c->raised_before - c->sent : 0);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(result);

/* On the CPU itself: the kernel's own table of affinities is not exported */
static int note_affinity(unsigned int cpu)
{
#if HAVE_AFFINITY
	u64 mpidr = read_cpuid_mpidr();

	per_cpu(counts, cpu).affinity = (mpidr & 0xffffff) | ((mpidr >> 32 & 0xff) << 24);
#endif
	return 0;
}

static enum cpuhp_state hp_state;

#ifdef CONFIG_TRACEPOINTS
static void find_tracepoint(struct tracepoint *tp, void *unused)
{
	if (!strcmp(tp->name, "ipi_raise"))
		tp_raise = tp;
	if (!strcmp(tp->name, "ipi_entry"))
		tp_entry = tp;
}

static int trace_start(void)
{
	int err;

	for_each_kernel_tracepoint(find_tracepoint, NULL);
	if (!tp_raise || !tp_entry) {
		tp_raise = NULL;
		tp_entry = NULL;
		return 0;
	}
	err = tracepoint_probe_register(tp_raise, probe_raise, NULL);
	if (err)
		return err;
	/* what was raised before and not counted is not to be counted as taken */
	msleep(50);
	err = tracepoint_probe_register(tp_entry, probe_entry, NULL);
	if (err) {
		tracepoint_probe_unregister(tp_raise, probe_raise, NULL);
		tracepoint_synchronize_unregister();
	}
	return err;
}

static void trace_stop(void)
{
	if (!tp_raise)
		return;
	tracepoint_probe_unregister(tp_entry, probe_entry, NULL);
	tracepoint_probe_unregister(tp_raise, probe_raise, NULL);
	tracepoint_synchronize_unregister();
}
#else
static int trace_start(void)
{
	return 0;
}

static void trace_stop(void)
{
}
#endif

static int __init ipi_test_init(void)
{
	int err = -ENOMEM;

	if (!zalloc_cpumask_var(&run_mask, GFP_KERNEL))
		return err;
	if (!zalloc_cpumask_var(&run_others, GFP_KERNEL))
		goto free_mask;
	err = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "ipi_test:online", note_affinity, NULL);
	if (err < 0)
		goto free_others;
	hp_state = err;
	err = trace_start();
	if (err)
		goto remove_state;

	dir = debugfs_create_dir("ipi_test", NULL);
	debugfs_create_file("run", 0200, dir, NULL, &run_fops);
	debugfs_create_file("result", 0400, dir, NULL, &result_fops);
	debugfs_create_bool("broadcast", 0600, dir, &broadcast);
	return 0;

remove_state:
	cpuhp_remove_state(hp_state);
free_others:
	free_cpumask_var(run_others);
free_mask:
	free_cpumask_var(run_mask);
	return err;
}

static void __exit ipi_test_exit(void)
{
	debugfs_remove(dir);
	trace_stop();
	irq_work_sync(&self_work);
	cpuhp_remove_state(hp_state);
	free_cpumask_var(run_others);
	free_cpumask_var(run_mask);
}

module_init(ipi_test_init);
module_exit(ipi_test_exit);

MODULE_DESCRIPTION("Sends IPIs by all kinds of masks and counts what arrives");
MODULE_LICENSE("GPL");
