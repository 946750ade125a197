// SPDX-License-Identifier: GPL-2.0
/*
 * A live patch of what /proc/version shows. Its transition ends when each CPU's
 * idle task has been through its idle loop, also one that polls in it.
 */
#include <linux/livepatch.h>
#include <linux/module.h>
#include <linux/seq_file.h>

#ifdef CONFIG_LIVEPATCH
static int patched_version_proc_show(struct seq_file *m, void *v)
{
	seq_puts(m, "patched by notify_livepatch\n");
	return 0;
}

static struct klp_func funcs[] = {
	{ .old_name = "version_proc_show", .new_func = patched_version_proc_show },
	{ }
};

static struct klp_object objs[] = {
	{ .funcs = funcs },
	{ }
};

static struct klp_patch patch = { .mod = THIS_MODULE, .objs = objs };

static int __init notify_livepatch_init(void)
{
	return klp_enable_patch(&patch);
}
#else
static int __init notify_livepatch_init(void)
{
	return -EOPNOTSUPP;
}
#endif

static void __exit notify_livepatch_exit(void)
{
}

module_init(notify_livepatch_init);
module_exit(notify_livepatch_exit);

MODULE_DESCRIPTION("A live patch, for its transition");
MODULE_LICENSE("GPL");
#ifdef CONFIG_LIVEPATCH
MODULE_INFO(livepatch, "Y");
#endif
