// SPDX-License-Identifier: GPL-2.0
/*
 * Makes an idle CPU poll in each of the ways that there are, sends it calls of
 * each type, and counts what it did. In /sys/kernel/debug/notify_test/:
 *
 *   run     write one of these; it returns when all has happened, -ETIMEDOUT if
 *           something did not:
 *           path=P [cpu=N tick=T]  how CPU N idles: P is none (as it comes), all (all CPUs
 *                 in cpu_idle_poll()), poll (poll_idle()) or mwait; with
 *                 tick=1 the tick runs on, with 0 it is stopped
 *           call=K cpu=N rounds=R gap=US   K is sync, async, irq_work or wakeup; or
 *                 softirq, softirq_wait or timer: a call that starts one, which for
 *                 softirq_wait waits there for another call
 *           behind=1 cpu=N rounds=R        wakeups that are queued behind a call
 *           storm=1 cpu=N rounds=R [gap=US]  calls from all other CPUs; to an
 *                 offline CPU they fail, which is counted
 *           rcu=1 rounds=R                 expedited grace periods
 *           inject=1 cpu=N rounds=R gap=US injected idle time, with calls
 *           stale=W cpu=N                  sets TIF_NOTIFY_IPI with nothing queued,
 *                 while CPU N is idle (W is 1), runs something (2) or is about to
 *                 leave its idle loop for a task (3, rounds=R)
 *   result  a line for each CPU, with counts since the module was loaded
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpu.h>
#include <linux/cpuidle.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/idle.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/timer.h>
#include <linux/tracepoint.h>
#include <linux/uaccess.h>

#ifdef CONFIG_X86
#include <asm/hardirq.h>
#include <asm/ibt.h>
#include <asm/mwait.h>
#endif

#define NO_CPU		UINT_MAX
#define MAX_ROUNDS	1000000
#define MWAIT_ROUNDS	1000
#define WAIT_S		20

enum idle_path { AS_IT_COMES, ALL, POLL, MWAIT };
static const char * const paths[] = { "none", "all", "poll", "mwait" };

enum call { SYNC, ASYNC, IRQ_WORK, WAKEUP, SOFTIRQ, SOFTIRQ_WAIT, TIMER };
static const char * const calls[] = {
	"sync", "async", "irq_work", "wakeup", "softirq", "softirq_wait", "timer",
};

struct counts {
	atomic_t wake;		/* kicked by a flag in place of an IPI */
	int in;			/* the idle state that it is in, or -1 */
	atomic_t idle[2];	/* entries of states 0 and 1; 1 is HLT without a driver */
	atomic_t mwait;		/* MWAITs of ours */
	atomic_t got;		/* what was sent and has arrived */
};

static DEFINE_PER_CPU(struct counts, counts);
static DEFINE_MUTEX(run_lock);

/* of the last run */
static unsigned int kicks, idled, absent, late, missed, stale;
/* something is still queued: neither the module nor its data may go */
static bool lost;

static struct tracepoint *tp_wake, *tp_idle;
static struct dentry *dir;
static enum idle_path path;
static void (*idle_poll_ctrl)(bool on);
static bool (*queue_irq_work_on)(struct irq_work *work, int cpu);

static int bad(const char *what, const char *value, const char *want)
{
	pr_err("%s=%s: %s\n", what, value, want);
	return -EINVAL;
}

/* Not exported to modules; NULL if kprobes cannot tell */
static void *find_symbol(const char *name)
{
	void *addr = NULL;
#ifdef CONFIG_KPROBES
	struct kprobe kp = { .symbol_name = name };

	if (!register_kprobe(&kp)) {
		addr = kp.addr;
		unregister_kprobe(&kp);
	}
#ifdef CONFIG_X86_KERNEL_IBT
	/* a probe goes behind the landing pad, a call must not */
	if (addr && __is_endbr(*(u32 *)(addr - 4)))
		addr -= 4;
#endif
#endif
	return addr;
}

/* --- how the target idles */

/* no owner: the module may go while a path is set, and then puts it back */
static struct cpuidle_driver driver = { .name = "notify_test" };
static DEFINE_PER_CPU(struct cpuidle_device, device);
static unsigned int path_cpu;

static __always_inline bool kicked(void)
{
#ifdef TIF_NOTIFY_IPI
	if (test_thread_flag(TIF_NOTIFY_IPI))
		return true;
#endif
	return tif_need_resched();
}

/*
 * An emulator with more than one CPU may end a MWAIT at once, and then most of
 * the time would go by outside of it: hence a loop. It bounds for how long what
 * an interrupt asks of the idle loop, a timer to be programmed, is put off.
 */
static __cpuidle int mwait_enter(struct cpuidle_device *dev, struct cpuidle_driver *drv, int index)
{
#ifdef CONFIG_X86
	int i;

	for (i = 0; i < MWAIT_ROUNDS && !kicked(); i++)
		mwait_idle_with_hints(0, 0);
	raw_cpu_add(counts.mwait.counter, i);
#endif
	return index;
}

static void path_stop(void)
{
	if (path == ALL) {
		idle_poll_ctrl(false);
	} else if (path != AS_IT_COMES) {
		cpuidle_unregister_device(per_cpu_ptr(&device, path_cpu));
		cpuidle_unregister_driver(&driver);
	}
	path = AS_IT_COMES;
	/* out of whatever they are in */
	wake_up_all_idle_cpus();
}

/*
 * Two states, so that the governor is asked; the second one takes so long to
 * get out of that it never is chosen. Then menu stops the tick if the first
 * one is not flagged as polling, and retains it if it is.
 */
static int path_start(enum idle_path p, unsigned int cpu, bool tick)
{
	struct cpuidle_device *dev = per_cpu_ptr(&device, cpu);
	int err;

	if (p == ALL) {
		if (!idle_poll_ctrl)
			return -EOPNOTSUPP;
		idle_poll_ctrl(true);
		path = p;
		wake_up_all_idle_cpus();
		return 0;
	}
#ifdef CONFIG_X86
	if (p == MWAIT && !boot_cpu_has(X86_FEATURE_MWAIT))
		return -EOPNOTSUPP;
#else
	if (p == MWAIT)
		return -EOPNOTSUPP;
#endif
	memset(driver.states, 0, sizeof(driver.states));
	cpuidle_poll_state_init(&driver);
	if (!driver.states[0].enter)
		return -EOPNOTSUPP;
	if (p == MWAIT) {
		strscpy(driver.states[0].name, "MWAIT");
		driver.states[0].enter = mwait_enter;
	}
	driver.states[1] = driver.states[0];
	strscpy(driver.states[1].name, "NEVER");
	driver.states[1].exit_latency = UINT_MAX;
	driver.states[1].target_residency = UINT_MAX;
	driver.states[0].flags = tick ? CPUIDLE_FLAG_POLLING : 0;
	driver.states[1].flags = 0;
	driver.state_count = 2;
	driver.safe_state_index = 0;

	err = cpuidle_register_driver(&driver);
	if (err)
		return err;
	memset(dev, 0, sizeof(*dev));
	dev->cpu = cpu;
	/* poll_idle() is left when it is kicked, and for no other reason */
	dev->poll_limit_ns = 3600ULL * NSEC_PER_SEC;
	err = cpuidle_register_device(dev);
	if (err) {
		cpuidle_unregister_driver(&driver);
		return err;
	}
	path = p;
	path_cpu = cpu;
	wake_up_all_idle_cpus();
	return 0;
}

/* --- what is sent */

static void arrived(void *unused)
{
	atomic_inc(&this_cpu_ptr(&counts)->got);
}

static void work_arrived(struct irq_work *work)
{
	arrived(NULL);
}

static void tasklet_arrived(struct tasklet_struct *unused)
{
	arrived(NULL);
}

static DECLARE_TASKLET(remote_tasklet, tasklet_arrived);

static void start_tasklet(void *tasklet)
{
	tasklet_schedule(tasklet);
}

static bool held, held_idle, release;

/*
 * What a soft interrupt does that spins for a lock, and the owner of the lock waits
 * for a call to this CPU: nothing but an interrupt gets the call in here.
 */
static void tasklet_waits(struct tasklet_struct *unused)
{
	atomic_t *got = &this_cpu_ptr(&counts)->got;
	unsigned long end = jiffies + HZ / 2;
	int before = atomic_read(got);

	WRITE_ONCE(held, true);
	while (atomic_read(got) == before && time_before(jiffies, end))
		cpu_relax();
	if (atomic_read(got) == before)
		missed++;
}

static DECLARE_TASKLET(waiting_tasklet, tasklet_waits);

static void timer_arrived(struct timer_list *timer)
{
	late = max_t(unsigned int, late, jiffies - timer->expires);
	arrived(NULL);
}

static struct timer_list remote_timer;

static void start_timer(void *unused)
{
	mod_timer(&remote_timer, jiffies + 2);
}

static DEFINE_PER_CPU(call_single_data_t, async_csd) = CSD_INIT(arrived, NULL);
static struct irq_work remote_work = IRQ_WORK_INIT_HARD(work_arrived);
static struct task_struct *sleeper;
static struct task_struct *idle_tasks[NR_CPUS];

static void note_idle_task(void *unused)
{
	if (is_idle_task(current))
		idle_tasks[smp_processor_id()] = current;
}

static struct task_struct *idle_task_of(unsigned int cpu)
{
	int tries;

	for (tries = 0; !idle_tasks[cpu] && tries < 1000; tries++) {
		usleep_range(500, 1000);
		smp_call_function_single(cpu, note_idle_task, NULL, true);
	}
	return idle_tasks[cpu];
}

static unsigned int idle_when_run;

static bool left_notify(struct task_struct *idle)
{
#ifdef TIF_NOTIFY_IPI
	return test_tsk_thread_flag(idle, TIF_NOTIFY_IPI);
#else
	return false;
#endif
}

static unsigned int idle_entries(unsigned int cpu)
{
	struct counts *c = per_cpu_ptr(&counts, cpu);

	return atomic_read(&c->idle[0]) + atomic_read(&c->idle[1]);
}

static int sleeper_fn(void *unused)
{
	struct task_struct *idle;
	bool first = true;

	for (;;) {
		set_current_state(TASK_IDLE);
		if (kthread_should_stop())
			break;
		if (!first) {
			idle_when_run = idle_entries(smp_processor_id());
			/* the idle task should not have it while another one runs */
			idle = idle_tasks[smp_processor_id()];
			stale += idle && left_notify(idle);
			arrived(NULL);
		}
		first = false;
		schedule();
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

static int give_up(unsigned int cpu, const char *what)
{
	pr_err("CPU %u: %s within %d s\n", cpu, what, WAIT_S);
	lost = true;
	__module_get(THIS_MODULE);
	return -ETIMEDOUT;
}

/* spins: the sender may hold off preemption */
#define spin_until(condition)						\
({									\
	unsigned long end = jiffies + WAIT_S * HZ;			\
	bool in_time = true;						\
									\
	while (!(condition) && in_time) {				\
		cpu_relax();						\
		in_time = time_before(jiffies, end);			\
	}								\
	in_time;							\
})

static int wait_got(unsigned int cpu, int want)
{
	if (spin_until(atomic_read(&per_cpu(counts, cpu).got) - want >= 0))
		return 0;
	return give_up(cpu, "a call or a wakeup did not arrive");
}

/* Bound to CPU cpu, and asleep there */
static int start_sleeper(unsigned int cpu)
{
	sleeper = kthread_create_on_cpu(sleeper_fn, NULL, cpu, "notify_sleeper/%u");
	if (IS_ERR(sleeper))
		return PTR_ERR(sleeper);
	wake_up_process(sleeper);
	return 0;
}

static void stop_sleeper(void)
{
	if (!IS_ERR(sleeper) && !lost)
		kthread_stop(sleeper);
}

/* Or it would not be a wakeup */
static int wait_asleep(unsigned int cpu)
{
	unsigned int i;

	for (i = 0; i < WAIT_S * 1000; i++) {
		if (READ_ONCE(sleeper->__state) == TASK_IDLE && !READ_ONCE(sleeper->on_rq) &&
		    !READ_ONCE(sleeper->on_cpu))
			return 0;
		usleep_range(1000, 1100);
	}
	return give_up(cpu, "a task did not go to sleep");
}

static int send_one(enum call kind, unsigned int cpu)
{
	int want = atomic_read(&per_cpu(counts, cpu).got) + 1, err = 0;

	switch (kind) {
	case SYNC:
		err = smp_call_function_single(cpu, arrived, NULL, true);
		break;
	case ASYNC:
		err = smp_call_function_single_async(cpu, per_cpu_ptr(&async_csd, cpu));
		break;
	case IRQ_WORK:
		if (!queue_irq_work_on(&remote_work, cpu))
			err = -EBUSY;
		break;
	case WAKEUP:
		err = wait_asleep(cpu);
		if (!err && !wake_up_process(sleeper))
			err = -EBUSY;
		break;
	case SOFTIRQ:
		err = smp_call_function_single(cpu, start_tasklet, &remote_tasklet, true);
		break;
	case SOFTIRQ_WAIT:
		held = false;
		err = smp_call_function_single(cpu, start_tasklet, &waiting_tasklet, true);
		if (!err && !spin_until(READ_ONCE(held)))
			return give_up(cpu, "a soft interrupt did not run");
		err = err ?: smp_call_function_single_async(cpu, per_cpu_ptr(&async_csd, cpu));
		break;
	case TIMER:
		err = smp_call_function_single(cpu, start_timer, NULL, true);
		break;
	}
	return err ?: wait_got(cpu, want);
}

static int send_calls(enum call kind, unsigned int cpu, unsigned int rounds, unsigned int gap)
{
	int err = 0;

	if (kind == IRQ_WORK && !queue_irq_work_on)
		return -EOPNOTSUPP;
	if (kind == WAKEUP)
		err = start_sleeper(cpu);
	for (; !err && rounds; rounds--) {
		usleep_range(gap, gap + 100);
		err = send_one(kind, cpu);
		if (signal_pending(current))
			err = -EINTR;
	}
	if (kind == WAKEUP)
		stop_sleeper();
	return err;
}

/* Calls that the target was kicked for, by a flag or by an IPI */
static unsigned int kicks_of(unsigned int cpu)
{
	unsigned int sum = atomic_read(&per_cpu(counts, cpu).wake);

#ifdef CONFIG_X86
	sum += per_cpu(irq_stat, cpu).counts[IRQ_COUNT_CALL_FUNCTION];
#endif
	return sum;
}

/* With interrupts off: whatever is queued meanwhile stays in the queue */
static void hold(void *unused)
{
	held_idle = is_idle_task(current);
	/* pairs with the load in hold_cpu() */
	smp_store_release(&held, true);
	/* pairs with the store in release_cpu() */
	while (!smp_load_acquire(&release))
		cpu_relax();
}

static DEFINE_PER_CPU(call_single_data_t, hold_csd) = CSD_INIT(hold, NULL);

static int hold_cpu(unsigned int cpu)
{
	int err;

	held = false;
	release = false;
	/* orders the stores above before hold() can run; pairs with its start by the queue */
	smp_mb();
	err = smp_call_function_single_async(cpu, per_cpu_ptr(&hold_csd, cpu));
	if (err)
		return err;
	/* pairs with the store in hold() */
	return spin_until(smp_load_acquire(&held)) ? 0 : give_up(cpu, "a call did not begin");
}

static void release_cpu(void)
{
	/* pairs with the load in hold(): what was done to that CPU is seen after it */
	smp_store_release(&release, true);
}

static int behind_once(unsigned int cpu)
{
	unsigned int kicks_before, idle_before;
	int want = atomic_read(&per_cpu(counts, cpu).got), err;

	err = hold_cpu(cpu);
	if (err)
		return err;

	kicks_before = kicks_of(cpu);
	idle_before = idle_entries(cpu);
	err = smp_call_function_single_async(cpu, per_cpu_ptr(&async_csd, cpu));
	if (!err && !wake_up_process(sleeper))
		err = -EBUSY;
	release_cpu();
	if (!err)
		err = wait_got(cpu, want + 2);
	idled += idle_when_run - idle_before;
	kicks += kicks_of(cpu) - kicks_before;
	return err;
}

/* Its idle task gets both flags: it leaves its loop with them, for a task */
static int leave_once(unsigned int cpu)
{
#ifdef TIF_NOTIFY_IPI
	int want = atomic_read(&per_cpu(counts, cpu).got) + 1, err = hold_cpu(cpu);

	if (err)
		return err;
	if (held_idle) {
		set_tsk_thread_flag(idle_tasks[cpu], TIF_NOTIFY_IPI);
		set_tsk_need_resched(idle_tasks[cpu]);
	}
	if (!wake_up_process(sleeper))
		err = -EBUSY;
	release_cpu();
	return err ?: wait_got(cpu, want);
#else
	return -EOPNOTSUPP;
#endif
}

/* ONCE for each of ROUNDS wakeups */
static int wake_held(unsigned int cpu, unsigned int rounds, int (*once)(unsigned int cpu))
{
	int err = start_sleeper(cpu);

	for (; !err && rounds; rounds--) {
		usleep_range(300, 500);
		err = wait_asleep(cpu);
		if (err)
			break;
		preempt_disable();
		err = once(cpu);
		preempt_enable();
	}
	stop_sleeper();
	return err;
}

static bool stop_senders;

struct sender {
	struct task_struct *task;
	unsigned int target, rounds, gap, sent, absent;
	int err;
	struct completion done;
};

static int sender_fn(void *data)
{
	struct sender *s = data;
	unsigned int i;
	int err;

	for (i = 0; !s->err && i < s->rounds && !READ_ONCE(stop_senders); i++) {
		err = smp_call_function_single(s->target, arrived, NULL, true);
		if (err == -ENXIO)
			s->absent++;
		else if (err)
			s->err = err;
		else
			s->sent++;
		if (s->gap)
			usleep_range(s->gap, s->gap + 100);
		else
			cond_resched();
	}
	/* no code of the module is run after it */
	kthread_complete_and_exit(&s->done, 0);
}

static int storm(unsigned int target, unsigned int rounds, unsigned int gap)
{
	int start = atomic_read(&per_cpu(counts, target).got), sent = 0, err = 0;
	struct sender *senders;
	unsigned int cpu, n = 0, i;

	senders = kcalloc(nr_cpu_ids, sizeof(*senders), GFP_KERNEL);
	if (!senders)
		return -ENOMEM;
	stop_senders = false;
	cpus_read_lock();
	for_each_online_cpu(cpu) {
		struct sender *s = &senders[n];

		if (cpu == target)
			continue;
		s->target = target;
		s->rounds = rounds;
		s->gap = gap;
		init_completion(&s->done);
		s->task = kthread_create_on_cpu(sender_fn, s, cpu, "notify_sender/%u");
		if (IS_ERR(s->task)) {
			err = PTR_ERR(s->task);
			break;
		}
		n++;
		wake_up_process(s->task);
	}
	cpus_read_unlock();
	for (i = 0; i < n; i++) {
		if (wait_for_completion_interruptible(&senders[i].done)) {
			err = -EINTR;
			WRITE_ONCE(stop_senders, true);
			wait_for_completion(&senders[i].done);
		}
		err = err ?: senders[i].err;
		absent += senders[i].absent;
		sent += senders[i].sent;
	}
	kfree(senders);
	if (!err && atomic_read(&per_cpu(counts, target).got) - start != sent) {
		pr_err("CPU %u: %d calls made, %d sent\n", target,
		       atomic_read(&per_cpu(counts, target).got) - start, sent);
		err = -EIO;
	}
	return err;
}

static bool injecting;

static int inject_fn(void *data)
{
	unsigned int us = *(unsigned int *)data;

	sched_set_fifo(current);
	while (!kthread_should_stop()) {
		WRITE_ONCE(injecting, true);
		play_idle_precise(us * (u64)NSEC_PER_USEC, NSEC_PER_MSEC);
		WRITE_ONCE(injecting, false);
		usleep_range(us, us * 2);
	}
	return 0;
}

/* Half of the time is idle time that a task makes: no idle task, and no polling flag of its own */
static int inject(unsigned int cpu, unsigned int rounds, unsigned int us)
{
	struct task_struct *task;
	int err = 0;

	task = kthread_create_on_cpu(inject_fn, &us, cpu, "notify_inject/%u");
	if (IS_ERR(task))
		return PTR_ERR(task);
	wake_up_process(task);
	for (kicks = 0; !err && kicks < rounds; ) {
		usleep_range(us / 3, us / 2);
		if (!READ_ONCE(injecting))
			continue;
		kicks++;
		err = send_one(kicks & 1 ? SYNC : ASYNC, cpu);
	}
	kthread_stop(task);
	return err;
}

/* --- the flags of the target's idle task */

/* unused without the flag */
static int __maybe_unused busy_fn(void *unused)
{
	while (!kthread_should_stop()) {
		WRITE_ONCE(held, true);
		cond_resched();
	}
	return 0;
}

static int set_stale(unsigned int cpu, bool busy)
{
#ifdef TIF_NOTIFY_IPI
	struct task_struct *idle = idle_task_of(cpu), *task;
	unsigned int i;

	if (!idle)
		return -EBUSY;
	usleep_range(20000, 30000);
	if (busy) {
		held = false;
		task = kthread_create_on_cpu(busy_fn, NULL, cpu, "notify_busy/%u");
		if (IS_ERR(task))
			return PTR_ERR(task);
		wake_up_process(task);
		while (!READ_ONCE(held))
			usleep_range(100, 200);
		set_tsk_thread_flag(idle, TIF_NOTIFY_IPI);
		kthread_stop(task);
	} else {
		set_tsk_thread_flag(idle, TIF_NOTIFY_IPI);
	}
	for (i = 0; i < 1000 && test_tsk_thread_flag(idle, TIF_NOTIFY_IPI); i++)
		usleep_range(100, 200);
	return 0;
#else
	return -EOPNOTSUPP;
#endif
}

/* --- the files */

struct run {
	unsigned int cpu, tick, rounds, gap;
	int path, call, behind, storm, rcu, inject, stale;
};

static int parse(struct run *r, char *text)
{
	static const struct {
		const char *key;
		size_t where;
		unsigned int min, max;
	} numbers[] = {
		{ "cpu", offsetof(struct run, cpu), 0, INT_MAX },
		{ "tick", offsetof(struct run, tick), 0, 1 },
		{ "rounds", offsetof(struct run, rounds), 1, MAX_ROUNDS },
		{ "gap", offsetof(struct run, gap), 0, 1000000 },
		{ "behind", offsetof(struct run, behind), 1, 1 },
		{ "storm", offsetof(struct run, storm), 1, 1 },
		{ "rcu", offsetof(struct run, rcu), 1, 1 },
		{ "inject", offsetof(struct run, inject), 1, 1 },
		{ "stale", offsetof(struct run, stale), 1, 3 },
	};
	char *word, *key;
	unsigned int n;
	size_t i;

	while ((word = strsep(&text, "\n "))) {
		if (!*word)
			continue;
		key = strsep(&word, "=");
		if (!word)
			return bad("run", key, "give key=value words");
		if (!strcmp(key, "path")) {
			r->path = match_string(paths, ARRAY_SIZE(paths), word);
			if (r->path < 0)
				return bad(key, word, "none all poll mwait");
			continue;
		}
		if (!strcmp(key, "call")) {
			r->call = match_string(calls, ARRAY_SIZE(calls), word);
			if (r->call < 0)
				return bad(key, word, "see the comment in the source");
			continue;
		}
		for (i = 0; i < ARRAY_SIZE(numbers) && strcmp(key, numbers[i].key); i++)
			;
		if (i == ARRAY_SIZE(numbers))
			return bad(key, word, "see the comment in the source");
		if (kstrtouint(word, 0, &n) || n < numbers[i].min || n > numbers[i].max)
			return bad(key, word, "not a number in its range");
		*(unsigned int *)((char *)r + numbers[i].where) = n;
	}
	if (r->cpu != NO_CPU && (r->cpu >= nr_cpu_ids || !cpu_possible(r->cpu)))
		return bad("cpu", "", "give a CPU that can be");
	if (r->cpu == NO_CPU && !(r->rcu || r->path == AS_IT_COMES || r->path == ALL))
		return bad("cpu", "", "missing");
	return 0;
}

static int start(char *text)
{
	struct run r = {
		.cpu = NO_CPU,
		.tick = 1,
		.rounds = 1,
		.gap = 300,
		.path = -1,
		.call = -1,
	};
	int err = parse(&r, text);

	if (err)
		return err;
	if (lost) {
		pr_err("an earlier call was lost: reboot\n");
		return -EIO;
	}
	kicks = 0;
	idled = 0;
	absent = 0;
	late = 0;
	missed = 0;
	stale = 0;
	if (r.cpu != NO_CPU && cpu_online(r.cpu) && !idle_task_of(r.cpu))
		return -EBUSY;
	if (r.path >= 0) {
		path_stop();
		return r.path == AS_IT_COMES ? 0 : path_start(r.path, r.cpu, r.tick);
	}
	if (r.call >= 0)
		return send_calls(r.call, r.cpu, r.rounds, r.gap);
	if (r.behind)
		return wake_held(r.cpu, r.rounds, behind_once);
	if (r.storm)
		return storm(r.cpu, r.rounds, r.gap == 300 ? 0 : r.gap);
	if (r.inject)
		return inject(r.cpu, r.rounds, r.gap);
	if (r.stale == 3)
		return wake_held(r.cpu, r.rounds, leave_once);
	if (r.stale)
		return set_stale(r.cpu, r.stale == 2);
	if (!r.rcu)
		return bad("run", "", "nothing to do");
	for (; r.rounds; r.rounds--)
		synchronize_rcu_expedited();
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

static bool left_resched(struct task_struct *idle)
{
	return test_tsk_thread_flag(idle, TIF_NEED_RESCHED) ||
	       test_tsk_thread_flag(idle, TIF_NEED_RESCHED_LAZY);
}

/* The copy of NEED_RESCHED in the preemption count, of a CPU that is idle */
static bool left_preempt(unsigned int cpu)
{
#ifdef CONFIG_X86
	return !(READ_ONCE(per_cpu(__preempt_count, cpu)) & PREEMPT_NEED_RESCHED);
#else
	return false;
#endif
}

static int result_show(struct seq_file *s, void *unused)
{
	unsigned int cpu;

	seq_printf(s, "path=%s kicks=%u idled=%u absent=%u late=%u missed=%u stale=%u\n",
		   paths[path], kicks, idled, absent, late, missed, stale);
	for_each_online_cpu(cpu) {
		struct counts *c = per_cpu_ptr(&counts, cpu);
		struct task_struct *idle = idle_tasks[cpu];

		seq_printf(s, "cpu=%u wake=%d in=%d idle0=%d idle1=%d mwait=%d got=%d", cpu,
			   atomic_read(&c->wake), READ_ONCE(c->in), atomic_read(&c->idle[0]),
			   atomic_read(&c->idle[1]), atomic_read(&c->mwait), atomic_read(&c->got));
		seq_printf(s, " resched=%d preempt=%d notify=%d\n", idle && left_resched(idle),
			   idle && left_preempt(cpu), idle && left_notify(idle));
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(result);

static void probe_wake(void *data, int cpu)
{
	atomic_inc(&per_cpu(counts, cpu).wake);
}

static void probe_idle(void *data, unsigned int state, unsigned int cpu)
{
	WRITE_ONCE(per_cpu(counts, cpu).in, state);
	if (state < ARRAY_SIZE(per_cpu(counts, cpu).idle))
		atomic_inc(&per_cpu(counts, cpu).idle[state]);
}

static void find_tracepoint(struct tracepoint *tp, void *unused)
{
	if (!strcmp(tp->name, "sched_wake_idle_without_ipi"))
		tp_wake = tp;
	if (!strcmp(tp->name, "cpu_idle"))
		tp_idle = tp;
}

static int __init notify_test_init(void)
{
	unsigned int cpu;
	int err;

	for_each_possible_cpu(cpu)
		per_cpu(counts, cpu).in = -1;
#ifdef CONFIG_TRACEPOINTS
	for_each_kernel_tracepoint(find_tracepoint, NULL);
#endif
	if (!tp_wake || !tp_idle) {
		pr_err("no tracepoints: CONFIG_TRACEPOINTS\n");
		return -EOPNOTSUPP;
	}
	err = tracepoint_probe_register(tp_wake, probe_wake, NULL);
	if (err)
		return err;
	err = tracepoint_probe_register(tp_idle, probe_idle, NULL);
	if (err) {
		tracepoint_probe_unregister(tp_wake, probe_wake, NULL);
		tracepoint_synchronize_unregister();
		return err;
	}
	timer_setup(&remote_timer, timer_arrived, TIMER_PINNED);
	idle_poll_ctrl = find_symbol("cpu_idle_poll_ctrl");
	queue_irq_work_on = find_symbol("irq_work_queue_on");

	dir = debugfs_create_dir("notify_test", NULL);
	debugfs_create_file("run", 0200, dir, NULL, &run_fops);
	debugfs_create_file("result", 0400, dir, NULL, &result_fops);
	return 0;
}

static void __exit notify_test_exit(void)
{
	debugfs_remove(dir);
	path_stop();
	irq_work_sync(&remote_work);
	tasklet_kill(&remote_tasklet);
	tasklet_kill(&waiting_tasklet);
	timer_shutdown_sync(&remote_timer);
	tracepoint_probe_unregister(tp_idle, probe_idle, NULL);
	tracepoint_probe_unregister(tp_wake, probe_wake, NULL);
	tracepoint_synchronize_unregister();
}

module_init(notify_test_init);
module_exit(notify_test_exit);

MODULE_DESCRIPTION("Makes idle CPUs poll, calls them and counts what they did");
MODULE_LICENSE("GPL");
