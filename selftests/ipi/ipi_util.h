/* SPDX-License-Identifier: GPL-2.0 */
/* What the IPI tests share: the test module, CPUs, the switch, the markers. */
#ifndef IPI_UTIL_H
#define IPI_UTIL_H

#include <stdbool.h>

#define MAX_CPUS	1024

/* Reasons of IPIs, in the order of the test module */
enum { IPI_CALL, IPI_WORK, IPI_REASONS };

struct ipi_cpu {
	unsigned int sent, calls;	/* of the last run */
	int entered, raised;		/* since the module was loaded */
	int irm[IPI_REASONS], list[IPI_REASONS];
	unsigned int affinity;
	int stale, others;		/* messages not seen; IPIs that may account for them */
};

/* The file "result" of the test module */
struct ipi_result {
	unsigned int partial;
	int irm, list;
	int traced, model;
	struct ipi_cpu cpu[MAX_CPUS];
};

/* Positions of the switch; a kernel that has none is in POS_BASE */
enum { POS_OFF, POS_ON, POS_BASE };

struct ipi_run {
	const char *name;
	int sender;
	int position;
	const char *command;		/* for the module, without rounds= */
	unsigned int rounds;
	bool expected[MAX_CPUS];	/* who is to get it */
	bool self_ipi;			/* kind=self */
	unsigned int bare_irq;		/* of irq= */
	int plus;			/* of plus=, or -1 */
};

extern struct ipi_machine {
	int online[MAX_CPUS];		/* CPU numbers, in order */
	int nr_online;
	bool has_switch;
	bool traced;			/* the module sees what is raised and taken */
	bool witness;			/* the model of register writes applies */
	unsigned int call_irq;		/* for bare IPIs, or 0 */
	bool clusters;			/* affinities are known */
	bool many_clusters;		/* all but the first CPU are more than one */
} ipi;

extern const char * const ipi_position_name[];

#define NO_SWITCH "no irqchip.gicv3_sgi_broadcast: not GICv3 or kernel without the patch"

extern int ipi_sgi[IPI_REASONS];	/* SGI numbers, or -1 */

void ipi_use(const char *module_name, const char *file);
bool ipi_has_module(const char *name);
int ipi_load_module(const char *name, const char *params);
int ipi_unload_module(const char *name, unsigned int tenths);
int ipi_load(const char *params);
void ipi_load_or_skip(void);
void ipi_unload(void);
int ipi_keep(const char *path);
bool ipi_find_sgis(void);
/* seen by the host of the lab */
void ipi_mark(unsigned int value);
void ipi_init(unsigned int seconds);
void ipi_begin(unsigned int seconds);
void ipi_time_limit(unsigned int seconds);

void ipi_read_online(void);
bool ipi_is_online(int cpu);
bool ipi_can_offline(int cpu);
int ipi_set_online(int cpu, bool on);
void ipi_pin(int cpu);

int ipi_switch_write(const char *text);
char ipi_switch_read(void);
void ipi_switch_set(int position);

void ipi_read_result(struct ipi_result *r);
int ipi_command(const char *command);
bool ipi_no_stray(int cpu);
void ipi_forget_strays(int except);

/* A stretch of time in which the writes of a sender are counted twice */
struct ipi_bracket {
	unsigned int id;
	int sender, reason;
	bool clean;
	int irm, list;
	struct ipi_cpu start;
};

void ipi_bracket_begin(struct ipi_bracket *b, int sender, int reason);
void ipi_bracket_end(struct ipi_bracket *b);
void ipi_bracket_print(const struct ipi_bracket *b, const char *name,
		       unsigned int rounds, unsigned int partial);

bool ipi_run(const struct ipi_run *run);

#endif
