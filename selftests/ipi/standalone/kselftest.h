/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What these tests use of ../../kselftest.h, for builds without a kernel tree:
 * the same names, the same output.
 */
#ifndef IPI_STANDALONE_KSELFTEST_H
#define IPI_STANDALONE_KSELFTEST_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define ARRAY_SIZE(arr) (sizeof(arr) / sizeof((arr)[0]))

#define KSFT_PASS 0
#define KSFT_FAIL 1
#define KSFT_SKIP 4

static struct {
	unsigned int plan, pass, fail, skip;
} ksft;

static inline void ksft_print_header(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!getenv("KSFT_TAP_LEVEL"))
		printf("TAP version 13\n");
}

static inline void ksft_set_plan(unsigned int plan)
{
	ksft.plan = plan;
	printf("1..%u\n", plan);
}

static inline unsigned int ksft_test_num(void)
{
	return ksft.pass + ksft.fail + ksft.skip;
}

static inline void ksft_print_cnts(void)
{
	if (ksft.plan != ksft_test_num())
		printf("# Planned tests != run tests (%u != %u)\n", ksft.plan, ksft_test_num());
	printf("# Totals: pass:%u fail:%u xfail:0 xpass:0 skip:%u error:0\n",
	       ksft.pass, ksft.fail, ksft.skip);
}

#define ksft_print_msg(fmt, ...) printf("# " fmt, ##__VA_ARGS__)

#define ksft_test_result(condition, fmt, ...) do {				\
	int ksft_ok = !!(condition);						\
										\
	if (ksft_ok)								\
		ksft.pass++;							\
	else									\
		ksft.fail++;							\
	printf("%sok %u " fmt, ksft_ok ? "" : "not ", ksft_test_num(), ##__VA_ARGS__); \
} while (0)

#define ksft_test_result_skip(fmt, ...) do {					\
	ksft.skip++;								\
	printf("ok %u # SKIP " fmt, ksft_test_num(), ##__VA_ARGS__);		\
} while (0)

#define ksft_exit_fail_msg(fmt, ...) do {					\
	printf("Bail out! " fmt, ##__VA_ARGS__);				\
	ksft_print_cnts();							\
	exit(KSFT_FAIL);							\
} while (0)

#define ksft_exit_skip(fmt, ...) do {						\
	printf("1..0 # SKIP " fmt, ##__VA_ARGS__);				\
	exit(KSFT_SKIP);							\
} while (0)

static inline void ksft_finished(void)
{
	ksft_print_cnts();
	exit(ksft.plan == ksft.pass + ksft.skip ? KSFT_PASS : KSFT_FAIL);
}

#endif
