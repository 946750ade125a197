// SPDX-License-Identifier: GPL-2.0
/*
 * pmr-sites CAP VMLINUX [MEMORY]: the sites of pmr_sync(), found in the table
 * of alternatives: one line each, "ADDRESS SYMBOL+OFFSET PLACE BEFORE [AFTER]".
 * CAP is the number of ARM64_HAS_GIC_PRIO_RELAXED_SYNC, BEFORE what was built,
 * AFTER what a guest has there, of whose memory MEMORY is a copy from the
 * kernel's first byte. PLACE is "init" if that memory was freed, else "text".
 *
 * pmr-sites CAP OBJECT: "barriers N alternatives N bare N" of an object file
 * that is not linked: DSB SY, alternatives of CAP, DSB SY right after a write
 * to ICC_PMR_EL1. For a vmlinux, that is the last line, with "bare" being those
 * that no alternative covers.
 */
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DSB_SY		0xd5033f9fu
#define NOP		0xd503201fu
#define MSR_PMR		0xd5184600u	/* ICC_PMR_EL1, any register */
#define CALLBACK	0x8000		/* the top bit of alt_instr.cpucap */

struct alt_instr {
	int32_t orig_offset;
	int32_t alt_offset;
	uint16_t cpucap;
	uint8_t orig_len;
	uint8_t alt_len;
};

static unsigned char *image;
static size_t image_size;
static const Elf64_Ehdr *ehdr;
static const Elf64_Shdr *sections;

static void die(const char *what)
{
	fprintf(stderr, "pmr-sites: %s\n", what);
	exit(1);
}

static unsigned char *load(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	unsigned char *data;
	long end;

	if (!file || fseek(file, 0, SEEK_END) || (end = ftell(file)) <= 0)
		die("cannot read a file that was named");
	rewind(file);
	data = malloc(end);
	if (!data || fread(data, 1, end, file) != (size_t)end)
		die("cannot read a file that was named");
	fclose(file);
	*size = end;

	return data;
}

static const char *section_name(const Elf64_Shdr *section)
{
	return (char *)image + sections[ehdr->e_shstrndx].sh_offset + section->sh_name;
}

/* The section that has an address of a linked image */
static const Elf64_Shdr *section_at(uint64_t addr)
{
	int i;

	for (i = 0; i < ehdr->e_shnum; i++) {
		const Elf64_Shdr *s = &sections[i];

		if ((s->sh_flags & SHF_ALLOC) && s->sh_type != SHT_NOBITS &&
		    addr >= s->sh_addr && addr < s->sh_addr + s->sh_size)
			return s;
	}

	return NULL;
}

static uint32_t insn(const unsigned char *at)
{
	return at[0] | at[1] << 8 | at[2] << 16 | (uint32_t)at[3] << 24;
}

static const char *insn_name(uint32_t insn)
{
	static char hex[16];

	if (insn == DSB_SY)
		return "dsb";
	if (insn == NOP)
		return "nop";
	sprintf(hex, "%08x", insn);

	return hex;
}

/* The nearest symbol of code before addr, or the value of a symbol by name */
static const Elf64_Sym *symbol(uint64_t addr, const char *want, const char **name)
{
	const Elf64_Sym *best = NULL;
	size_t i, n;
	int j;

	for (j = 0; j < ehdr->e_shnum; j++) {
		const Elf64_Shdr *s = &sections[j];
		const Elf64_Sym *syms = (void *)(image + s->sh_offset);
		const char *names;

		if (s->sh_type != SHT_SYMTAB)
			continue;
		names = (char *)image + sections[s->sh_link].sh_offset;
		n = s->sh_size / sizeof(*syms);
		for (i = 0; i < n; i++) {
			const char *this = names + syms[i].st_name;

			if (want ? strcmp(this, want) :
			    !*this || *this == '$' || *this == '.' || syms[i].st_value > addr ||
			    (best && syms[i].st_value <= best->st_value))
				continue;
			best = &syms[i];
			if (name)
				*name = this;
		}
	}

	return best;
}

static uint64_t address_of(const char *name)
{
	const Elf64_Sym *sym = symbol(0, name, NULL);

	if (!sym)
		die("a symbol of the linker script is missing: is this a vmlinux?");

	return sym->st_value;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* DSB SY in all sections of code; bare: right after MSR, and not in sites */
static void count_barriers(const uint64_t *sites, size_t n, size_t alternatives)
{
	size_t barriers = 0, bare = 0, at;
	int i;

	for (i = 0; i < ehdr->e_shnum; i++) {
		const Elf64_Shdr *s = &sections[i];
		const unsigned char *code = image + s->sh_offset;

		if (!(s->sh_flags & SHF_EXECINSTR) || s->sh_type != SHT_PROGBITS)
			continue;
		for (at = 0; at + 4 <= s->sh_size; at += 4) {
			uint64_t addr = s->sh_addr + at;

			if (insn(code + at) != DSB_SY)
				continue;
			barriers++;
			if (at >= 4 && (insn(code + at - 4) & ~0x1fu) == MSR_PMR &&
			    !bsearch(&addr, sites, n, sizeof(*sites), compare)) {
				bare++;
				if (ehdr->e_type != ET_REL)
					printf("bare %llx\n", (unsigned long long)addr);
			}
		}
	}
	printf("barriers %zu alternatives %zu bare %zu\n", barriers, alternatives, bare);
}

int main(int argc, char **argv)
{
	unsigned char *memory = NULL;
	uint64_t *sites, base = 0, init_begin = 0, init_end = 0;
	size_t memory_size = 0, n = 0, i;
	unsigned int cap;
	int j;

	if (argc < 3)
		die("usage: pmr-sites CAP VMLINUX-or-OBJECT [MEMORY]");
	cap = strtoul(argv[1], NULL, 10);
	image = load(argv[2], &image_size);
	ehdr = (void *)image;
	if (image_size < sizeof(*ehdr) || memcmp(ehdr->e_ident, ELFMAG, SELFMAG) ||
	    ehdr->e_machine != EM_AARCH64 || ehdr->e_ident[EI_DATA] != ELFDATA2LSB)
		die("not a little-endian ELF file for arm64");
	sections = (void *)(image + ehdr->e_shoff);
	sites = calloc(image_size / sizeof(struct alt_instr) + 1, sizeof(*sites));

	if (ehdr->e_type != ET_REL) {
		base = address_of("_text");
		init_begin = address_of("__init_begin");
		init_end = address_of("__init_end");
	}
	if (argc > 3) {
		memory = load(argv[3], &memory_size);
		if (memory_size < 64 || memcmp(memory + 56, "ARM\x64", 4))
			die("the copy of the memory does not begin with a kernel");
	}

	for (j = 0; j < ehdr->e_shnum; j++) {
		const struct alt_instr *alt = (void *)(image + sections[j].sh_offset);

		if (strcmp(section_name(&sections[j]), ".altinstructions"))
			continue;
		for (i = 0; i < sections[j].sh_size / sizeof(*alt); i++) {
			uint64_t addr = sections[j].sh_addr + i * sizeof(*alt) + alt[i].orig_offset;

			if ((alt[i].cpucap & ~CALLBACK) != cap)
				continue;
			if (alt[i].orig_len != 4)
				die("an alternative that is not one instruction");
			sites[n++] = addr;
		}
	}
	if (ehdr->e_type == ET_REL) {
		count_barriers(NULL, 0, n);
		return 0;
	}

	qsort(sites, n, sizeof(*sites), compare);
	for (i = 0; i < n; i++) {
		const Elf64_Shdr *s = section_at(sites[i]);
		const char *name = "?";
		const Elf64_Sym *sym = symbol(sites[i], NULL, &name);
		int init = sites[i] >= init_begin && sites[i] < init_end;

		if (!s || !sym)
			die("an alternative outside of the code");
		printf("%llx %s+%llx %s %s", (unsigned long long)sites[i], name,
		       (unsigned long long)(sites[i] - sym->st_value), init ? "init" : "text",
		       insn_name(insn(image + s->sh_offset + sites[i] - s->sh_addr)));
		if (memory) {
			if (sites[i] - base + 4 > memory_size)
				die("the copy of the memory is too short");
			printf(" %s", insn_name(insn(memory + sites[i] - base)));
		}
		printf("\n");
	}
	count_barriers(sites, n, n);

	return 0;
}
