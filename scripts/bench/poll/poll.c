// SPDX-License-Identifier: GPL-2.0
/*
 * A cpuidle driver whose only state is poll_idle(), for guests that have no other
 * way there. With one state no governor is asked, and the tick is stopped after the
 * first tick that finds the CPU idle.
 */
#include <linux/cpuidle.h>
#include <linux/module.h>

static struct cpuidle_driver poll_driver = {
	.name = "bench_poll",
	.owner = THIS_MODULE,
	.state_count = 1,
};

static int __init poll_init(void)
{
	cpuidle_poll_state_init(&poll_driver);
	return cpuidle_register(&poll_driver, NULL);
}
module_init(poll_init);

MODULE_DESCRIPTION("A cpuidle driver that polls");
MODULE_LICENSE("GPL");
