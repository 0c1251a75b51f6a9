/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What kmod/extent.c and kmod/runs.c need of the kernel's headers, for the unit
 * test that compiles them in user space.
 */
#ifndef KVSTASH_SHIM_LIST_H
#define KVSTASH_SHIM_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list_head {
	struct list_head *next, *prev;
};

static inline void INIT_LIST_HEAD(struct list_head *head)
{
	head->next = head;
	head->prev = head;
}

static inline void list_add(struct list_head *entry, struct list_head *head)
{
	entry->next = head->next;
	entry->prev = head;
	head->next->prev = entry;
	head->next = entry;
}

static inline void list_del(struct list_head *entry)
{
	entry->next->prev = entry->prev;
	entry->prev->next = entry->next;
}

static inline bool list_empty(const struct list_head *head)
{
	return head->next == head;
}

#define list_first_entry(head, type, member) \
	((type *)((char *)(head)->next - offsetof(type, member)))

#endif /* KVSTASH_SHIM_LIST_H */
