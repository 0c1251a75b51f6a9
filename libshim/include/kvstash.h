/* SPDX-License-Identifier: LGPL-2.1 OR MIT */
/*
 * libkvstash: thin calls for the ioctl interface of /dev/kvstash
 *
 * The entries of a batch are the structures of <linux/kvstash.h>: the caller
 * owns them, fills them (best with the kvstash_prep_*() below), and reads each
 * entry's own result out of its first member, @r. The library keeps no copy,
 * allocates nothing but the client itself, and starts no threads.
 *
 * Errors: a function that returns int returns a negative errno if it fails.
 * errno itself is no part of the interface and may be overwritten. That a call
 * as a whole did not fail says nothing about its entries: look at each @r.
 *
 * Threads: any number of threads may make calls on one client at once, and so
 * may processes that share the open file. A lease or a reserved part may be used
 * and ended by any of them; if several end it at once, one does and the others
 * are told so. Only kvstash_close() must be the last call on a client. An entry,
 * and the memory that it points to, must be left alone by others during the
 * call. kvstash_last_refusal() is a thread's own.
 *
 * Units: lengths and offsets are bytes; counts are entries, keys, candidates,
 * segments, ranges, parts, members, layers, slots, rows or tokens, as named; times
 * are milliseconds.
 *
 * Leases: the client owns them, as it does its parts in flight. Each handle is
 * good for one kvstash_release(); the close of the file releases the rest.
 *
 * Sizes of structures are part of a symbol's version: a program that was linked
 * to an earlier version of the library goes on to work with a later one.
 *
 * In C++ some functions have the name of a structure, as stat() does: write
 * "struct kvstash_put e;" there, too.
 */
#ifndef KVSTASH_H
#define KVSTASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <linux/kvstash.h>

#ifdef __cplusplus
extern "C" {
/* a function beside a structure of its name is intended here */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#endif

/**
 * struct kvstash - a client: one open file of the device
 *
 * Owns the parts that it has in flight and its leases, and is bound to at most
 * one namespace.
 */
struct kvstash;

/**
 * kvstash_open() - open the device
 * @out:   the client; untouched if the call fails
 * @path:  path of the device, or NULL for KVSTASH_DEVICE
 * @flags: flags of open(2), or 0 for O_RDWR | O_CLOEXEC
 *
 * The file is asked whether it is a kvstash device. A client that was opened for
 * reading only, or for writing only, can do no more in any namespace. Ends with
 * kvstash_close().
 *
 * Return: 0, -ENOTTY if it is another kind of file, or an errno of open(2):
 * -ENOENT without the module, -EACCES without the right to open the device.
 */
int kvstash_open(struct kvstash **out, const char *path, int flags);

/**
 * kvstash_from_fd() - make a client of a file descriptor
 * @fd:  the device, opened elsewhere, such as one that came over a UNIX socket
 * @out: the client; untouched if the call fails
 *
 * The binding, parts in flight and leases are those of the open file: whoever else
 * holds a descriptor of it shares them, and they last until its last close.
 * After success the client owns @fd, else the caller still does.
 *
 * Return: 0, -EBADF if @fd is not open, -ENOTTY if it is no kvstash device,
 * -ENOMEM.
 */
int kvstash_from_fd(int fd, struct kvstash **out);

/**
 * kvstash_close() - end a client and close its file
 * @c: the client, or NULL
 *
 * With the last descriptor of the open file, its parts in flight are aborted
 * and its leases released before this returns.
 */
void kvstash_close(struct kvstash *c);

/**
 * kvstash_fd() - the file descriptor of a client, which goes on to own it
 * @c: the client
 */
int kvstash_fd(const struct kvstash *c);

/**
 * kvstash_query() - what the module is and can
 * @c:   the client
 * @out: filled; its @size need not be set
 *
 * Return: 0 or a negative errno.
 */
int kvstash_query(struct kvstash *c, struct kvstash_query *out);

/**
 * kvstash_bind() - choose the client's namespace
 * @c:  the client
 * @ns: its name
 *
 * A client that never calls this is bound to "default" by its first command.
 *
 * Return: 0, also if it was bound to @ns before; else a negative errno, with
 * the reason in kvstash_last_refusal(). A name too long for the structure is
 * refused here in the way of the kernel (-EINVAL, KVSTASH_R_NAME).
 */
int kvstash_bind(struct kvstash *c, const char *ns);

/**
 * kvstash_last_refusal() - why a call as a whole failed
 * @c:      the client
 * @reason: enum kvstash_reason, or NULL
 * @field:  offset of the refused member in struct kvstash_batch, kvstash_keys,
 *          kvstash_layout or kvstash_bind, or NULL
 *
 * Tells of this thread's last call if that was on @c: KVSTASH_R_OK and 0 if it
 * did not fail, or failed without a reason (such as -ENOTTY).
 */
void kvstash_last_refusal(const struct kvstash *c, unsigned int *reason,
			  unsigned int *field);

/*
 * Batches
 *
 * @n is 1 to KVSTASH_BATCH_MAX. Return: the entries that were carried out, with
 * or without success; fewer than @n only after a signal, and then the rest say
 * KVSTASH_R_INTERRUPTED. A negative errno if the call as a whole failed, with
 * the reason in kvstash_last_refusal(). If that is for what was found on the way,
 * such as entries that can't be read, those before may have been carried out:
 * kvstash_put_all() and its like say how many.
 */

/** kvstash_put() - copy parts in and commit them */
int kvstash_put(struct kvstash *c, struct kvstash_put *e, unsigned int n);

/** kvstash_reserve() - begin parts; each entry gets its @handle */
int kvstash_reserve(struct kvstash *c, struct kvstash_put *e, unsigned int n);

/** kvstash_write() - fill reserved parts */
int kvstash_write(struct kvstash *c, struct kvstash_write *e, unsigned int n);

/** kvstash_commit() - end reserved parts: their bytes are there for good */
int kvstash_commit(struct kvstash *c, struct kvstash_end *e, unsigned int n);

/** kvstash_abort() - give reserved parts up */
int kvstash_abort(struct kvstash *c, struct kvstash_end *e, unsigned int n);

/**
 * kvstash_get() - copy objects, or ranges of their parts, out
 *
 * With KVSTASH_GET_LEASE an entry whose @r.res is 0 has a lease in @lease, too;
 * with KVSTASH_GET_BY_LEASE it is about the object that @lease is on.
 */
int kvstash_get(struct kvstash *c, struct kvstash_get *e, unsigned int n);

/**
 * kvstash_release() - end leases
 *
 * From then on the object, unless others hold it, can be evicted, and if it was
 * removed its bytes are free. The handle is of no more use, whatever @r says:
 * -EALREADY if it was released before, -EBADF if it is no lease of this client's
 * (a reserved part is none), -EPERM or -ESTALE if it is another client's or of
 * another load of the module.
 */
int kvstash_release(struct kvstash *c, struct kvstash_end *e, unsigned int n);

/**
 * kvstash_exists() - the facts about keys
 * @c:   the client
 * @k:   the keys, see kvstash_prep_keys(); the library sets @size, @results and
 *       @stride and clears @pin and the candidates
 * @res: one result a key
 *
 * After kvstash_prep_keys_lease() each key with an @r.res of 0 is leased. One that
 * is visible and does not fit the namespace's budget any more is not: -EDQUOT,
 * KVSTASH_R_LEASE_BUDGET. Answers about the members of an atomic group are of one
 * moment.
 *
 * Return: the keys that were carried out, as for a batch. If the call fails,
 * @k->done keys were carried out, and may be leased, before.
 */
int kvstash_exists(struct kvstash *c, struct kvstash_keys *k,
		   struct kvstash_exists *res);

/**
 * kvstash_remove() - hide objects and all that descend from them
 * @c:   the client
 * @k:   the keys; the library sets @size, @results and @stride and clears @tags,
 *       @pin and the candidates
 * @res: one result a key, of which only @r is used
 *
 * With a member of a group goes the whole group, unless
 * kvstash_prep_keys_member() asked for the members alone.
 *
 * Return: the keys that were carried out, as for a batch.
 */
int kvstash_remove(struct kvstash *c, struct kvstash_keys *k,
		   struct kvstash_exists *res);

/**
 * kvstash_pin() - keep objects, or groups, from eviction, or no longer
 * @c:   the client
 * @k:   the keys, with kvstash_prep_keys_pin(); the library sets @size, @results
 *       and @stride and clears @tags and the candidates
 * @res: one result a key, of which only @r is used
 *
 * A pin is an attribute of the object and no client's: it stays after the close of
 * the file. Of a member it is its group's. -EDQUOT, KVSTASH_R_PIN_QUOTA: the hard
 * pin does not fit the namespace's quota, and nothing changed. -ENOENT with the
 * reason: the object is not visible.
 *
 * Return: the keys that were carried out, as for a batch.
 */
int kvstash_pin(struct kvstash *c, struct kvstash_keys *k,
		struct kvstash_exists *res);

/**
 * kvstash_lookup() - how many keys from the first on, and which states, are visible
 * @c: the client
 * @k: the keys; the library sets @size, @results and the strides and clears @tags
 *     and @pin. Comes back with @run, @bytes, and in @reason why the run ends
 *     before @count
 *
 * After kvstash_prep_keys_candidates() each candidate has an answer of its own in
 * its @r. Neither do they shorten the run nor does its end cut them off; and with
 * candidates there may be 0 keys.
 *
 * After kvstash_prep_keys_lease() the run and all visible candidates are leased, at
 * one moment: if they do not fit the namespace's budget the call fails with -EDQUOT
 * and nothing is leased.
 *
 * Return: @run, or a negative errno if the call as a whole failed.
 */
int kvstash_lookup(struct kvstash *c, struct kvstash_keys *k);

/*
 * Batches of any length
 *
 * As the above, for any @n, 0 too: split above KVSTASH_BATCH_MAX, and taken up
 * again after a signal until all is done. @done, or NULL, gets the entries that
 * were carried out. Return: 0 if all were, else the negative errno of the call
 * that failed; the entries from @done on were then not reached, and what
 * their @r says has no meaning.
 *
 * A @count of keys above KVSTASH_BATCH_MAX is several calls, hence not one
 * moment. @k comes back as the caller filled it, but for @done, @reason and
 * @field and, of a lookup, @run and @bytes over all of its calls. A lookup
 * stops at the first gap: *@done is then its run. Each candidate is asked for
 * once, also behind a gap, the first KVSTASH_CANDIDATES_MAX beside the first
 * keys. A lookup that leases and fails holds nothing: what its earlier calls had
 * leased is released again, and the handles are all zero.
 */
int kvstash_put_all(struct kvstash *c, struct kvstash_put *e, size_t n,
		    size_t *done);
int kvstash_reserve_all(struct kvstash *c, struct kvstash_put *e, size_t n,
			size_t *done);
int kvstash_write_all(struct kvstash *c, struct kvstash_write *e, size_t n,
		      size_t *done);
int kvstash_commit_all(struct kvstash *c, struct kvstash_end *e, size_t n,
		       size_t *done);
int kvstash_abort_all(struct kvstash *c, struct kvstash_end *e, size_t n,
		      size_t *done);
int kvstash_get_all(struct kvstash *c, struct kvstash_get *e, size_t n,
		    size_t *done);
int kvstash_release_all(struct kvstash *c, struct kvstash_end *e, size_t n,
			size_t *done);
int kvstash_exists_all(struct kvstash *c, struct kvstash_keys *k,
		       struct kvstash_exists *res, size_t *done);
int kvstash_remove_all(struct kvstash *c, struct kvstash_keys *k,
		       struct kvstash_exists *res, size_t *done);
int kvstash_pin_all(struct kvstash *c, struct kvstash_keys *k,
		    struct kvstash_exists *res, size_t *done);
int kvstash_lookup_all(struct kvstash *c, struct kvstash_keys *k, size_t *done);

/*
 * Layouts
 *
 * A layout says what the states of one kind look like, and has slots for them. It
 * belongs to the namespace, is named by fingerprint and scheme, and stays when the
 * client is closed. Build it with kvstash_prep_layout() and what is named after it.
 *
 * Of @l the library takes what the call asks for and clears the rest, so that one
 * structure serves several calls; what is "out" in struct kvstash_layout comes
 * back. Return: 0 or a negative errno, with reason and field in
 * kvstash_last_refusal(), and in @l, whose @detail is the number that goes with
 * the reason. A call that fails changes nothing of what is registered.
 */

/**
 * kvstash_layout_add() - register a layout, and carve slots for it
 * @c: the client
 * @l: the layout, its description and how many slots. The layers are only read
 *
 * The same description again is no error, and changes nothing: @slots comes back
 * as it is. Needs the right to write.
 *
 * Return: 0, -EXDEV if it is registered with another description, -EDQUOT or
 * -ENOSPC if the slots do not fit, -EDQUOT if the namespace has
 * KVSTASH_LAYOUTS_MAX, -EINVAL, -EFAULT.
 */
int kvstash_layout_add(struct kvstash *c, struct kvstash_layout *l);

/**
 * kvstash_layout_get() - description and figures of a layout
 * @c:      the client
 * @l:      the layout
 * @layers: gets as many layers as there is room for, or NULL
 * @room:   layers that fit there
 *
 * Return: 0, and @l->nr_layers is how many there are; -ENOENT if it is not
 * registered.
 */
int kvstash_layout_get(struct kvstash *c, struct kvstash_layout *l,
		       struct kvstash_layer *layers, __u32 room);

/**
 * kvstash_layout_next() - the same for the layout behind @l->id
 * @c:      the client
 * @l:      all zero: the first one. As the call before left it: the next one
 * @layers: as above
 * @room:   as above
 *
 * Goes through the namespace in the order of registration. One that is registered
 * or dropped meanwhile is in the list or not; none comes twice.
 *
 * Return: 0, or -ENOENT behind the last one.
 */
int kvstash_layout_next(struct kvstash *c, struct kvstash_layout *l,
			struct kvstash_layer *layers, __u32 room);

/**
 * kvstash_layout_set() - give a layout more slots, or fewer
 * @c: the client
 * @l: the layout, with kvstash_prep_layout_slots() or _share()
 *
 * Fewer evict the states used longest ago. Needs the right to write.
 *
 * Return: 0, -EBUSY if more are held than would be left, -EDQUOT or -ENOSPC if
 * more do not fit, -ENOENT if it is not registered.
 */
int kvstash_layout_set(struct kvstash *c, struct kvstash_layout *l);

/**
 * kvstash_layout_del() - drop a layout, and free its slots
 * @c: the client
 * @l: the layout
 *
 * Needs the right to write.
 *
 * Return: 0, -EBUSY if it has states (kvstash_layout_set() to 0 slots evicts
 * them), -ENOENT if it is not registered.
 */
int kvstash_layout_del(struct kvstash *c, struct kvstash_layout *l);

/**
 * struct kvstash_member - what an engine's key says of its place
 * @hash_len: bytes of the prefix hash, with which the key begins
 * @layer:    layer, or -1: the key is the hash alone
 * @tp_rank:  tensor-parallel rank, or -1: none is named
 * @side:     'k' or 'v', or 0 if the key is the hash alone
 */
struct kvstash_member {
	size_t hash_len;
	__s32 layer;
	__s32 tp_rank;
	char side;
};

/**
 * kvstash_member_of() - read a key of the form that engines make of a hash
 * @key: the key
 * @len: its length in bytes
 * @out: what it says; untouched if the call fails
 *
 * The forms, each of them the whole key:
 *
 *   <hash>  <hash>_<layer>_k  <hash>_<layer>_v
 *   <hash>_<layer>_k_tp_<rank>  <hash>_<layer>_v_tp_<rank>
 *
 * <hash> is one or more hex digits of either case; <layer> and <rank> are decimal,
 * 0 to INT32_MAX, without a sign or zeros in front. What the numbers stand for is
 * the engine's: others write a rank where these forms have the layer, so ask only
 * about keys that are known to be of these.
 *
 * A node of a radix tree over prefixes is a group whose key is the hash (see
 * kvstash_prep_put_group()); its parent is the group of the preceding prefix. How
 * many members there are and which index each has is not in the keys and is for
 * the engine to say, such as (layer * 2 + (side == 'v')) * ranks + rank of
 * layers * 2 * ranks.
 *
 * A pure function: any thread, no client.
 *
 * Return: 0, or -EINVAL for what is none of these forms.
 */
int kvstash_member_of(const void *key, size_t len, struct kvstash_member *out);

/**
 * kvstash_state_key() - write the key of a state
 * @to:          gets the key; KVSTASH_KEY_MAX bytes are always enough
 * @room:        bytes at @to
 * @fingerprint: KVSTASH_DIGEST_LEN bytes, of the layout
 * @scheme:      version of the scheme that the fingerprint was made by
 * @tokens:      aligned length: how many tokens the state comes after, not 0. That
 *               it is a multiple of the layout's alignment is checked by the put
 * @prefix:      hash of these tokens, made by the engine; not in @to
 * @prefix_len:  its length, 1 to KVSTASH_PREFIX_MAX
 *
 * The key is a struct kvstash_state_key, its numbers little endian, and the prefix
 * hash behind it: the same bytes on every machine. A state answers for exactly
 * these, so a hash that does not cover all tokens before the state must not be
 * named here.
 *
 * A pure function: any thread, no client.
 *
 * Return: the length of the key, or -EINVAL for a number out of range, -ENOSPC if
 * @room is too small; @to is untouched then.
 */
int kvstash_state_key(void *to, size_t room, const void *fingerprint,
		      __u32 scheme, __u64 tokens, const void *prefix,
		      size_t prefix_len);

/**
 * kvstash_layer_ranges() - ranges of a state that hold chosen layers
 * @layers:    the layout's, as kvstash_layout_get() gives them
 * @nr_layers: how many, up to KVSTASH_LAYERS_MAX
 * @chosen:    indices of layers, in any order, none twice
 * @n:         how many of them
 * @addrs:     where the bytes of each go: @addrs[i] has room for layer @chosen[i]
 * @out:       @n ranges, in the order of @chosen
 *
 * For kvstash_prep_get_ranges(), of which an entry takes up to KVSTASH_SEGS_MAX;
 * more are for several entries. The rest of the state is not read.
 *
 * A pure function: any thread, no client.
 *
 * Return: @n, or -EINVAL for a layer that there is not, or that is chosen twice;
 * @out is untouched then.
 */
int kvstash_layer_ranges(const struct kvstash_layer *layers, size_t nr_layers,
			 const __u32 *chosen, size_t n, void *const *addrs,
			 struct kvstash_range *out);

/**
 * struct kvstash_ring - memory of layers that each keep their last rows
 * @base:         row 0 of layer 0, if all layers are in one array; else not
 *                looked at
 * @bases:        row 0 of each layer, or NULL: they are in one array
 * @layer_stride: bytes from a layer to the next in that array; at least those of
 *                a layer
 * @layers:       how many
 * @rows:         of each layer: position p is in row p % @rows
 * @row_bytes:    bytes of a row; the rows of a layer are one behind the other
 *
 * No number but @layer_stride may be 0.
 */
struct kvstash_ring {
	void *base;
	void *const *bases;
	__u64 layer_stride;
	__u32 layers;
	__u32 rows;
	__u32 row_bytes;
};

/**
 * kvstash_ring_segs() - where the last rows before a position are
 * @r:    the rings
 * @end:  position behind the last row: tokens, rows of the past that are gone
 *        counted, too
 * @want: how many rows, 1 to @r->rows
 * @segs: gets, layer by layer, rows @end - @want to @end - 1, oldest first: a
 *        segment, or two where the ring wraps
 * @room: segments that fit there; 2 * @r->layers are always enough
 *
 * For kvstash_prep_put_segs(), which gathers them into a state, and
 * kvstash_prep_get_segs(), which spreads it out again: its layers are then one
 * behind the other without gaps, each of @want * @r->row_bytes. An entry takes up to
 * KVSTASH_SEGS_MAX segments. A state comes back at the same @end, whatever @rows
 * the ring then has.
 *
 * A pure function: any thread, no client. The rings' memory is not looked at.
 *
 * Return: the number of segments, or -ERANGE for rows that never were (@end <
 * @want) or are no more there (@want > @r->rows), -ENOSPC if @room is too small,
 * -EINVAL for a number that is 0, layers that overlap or too many of them, or NULL
 * for memory, -EOVERFLOW for memory that ends behind the address space; @segs is
 * untouched then.
 */
int kvstash_ring_segs(const struct kvstash_ring *r, __u64 end, __u32 want,
		      struct kvstash_seg *segs, size_t room);

/*
 * Where to resume a prompt
 *
 * An engine asks for its pages and states (kvstash_lookup() with candidates, best
 * with leases), and kvstash_resume() says what of them to use. All numbers are
 * tokens, but those of pages; the facts are of one prompt.
 */

#define KVSTASH_RESUME_LAYOUTS_MAX	16

/* kvstash_engine_layout.replay */
#define KVSTASH_REPLAY_EXACT	0	/* resumes with a state at the boundary only */
#define KVSTASH_REPLAY_BOUNDED	1	/* or makes it, by computing the window again */

/**
 * struct kvstash_engine_layout - what an engine needs of, and can do with, a layout
 * @window:   how many tokens before it a state depends on; 0: on all, as that of a
 *            recurrent layer
 * @rollback: by how many an engine can cut a state back: one of length L serves
 *            each boundary from L - @rollback to L
 * @replay:   KVSTASH_REPLAY_*; BOUNDED only with a window
 */
struct kvstash_engine_layout {
	__u64 window;
	__u64 rollback;
	__u32 replay;
};

/**
 * struct kvstash_engine - a prompt, and what the engine needs to resume it
 * @prompt_tokens:   of the whole prompt
 * @block_tokens:    of a page; 0: the model has no pages, and none is needed
 * @step:            a boundary is a multiple of it; 0 and 1: any is one
 * @least_recompute: so many at the end of the prompt are computed again in any
 *                   case; an engine that needs the last token's output says 1
 * @layouts:         those that the model has states of
 * @nr_layouts:      0 to KVSTASH_RESUME_LAYOUTS_MAX; 0: it needs no states
 */
struct kvstash_engine {
	__u64 prompt_tokens;
	__u64 block_tokens;
	__u64 step;
	__u64 least_recompute;
	const struct kvstash_engine_layout *layouts;
	size_t nr_layouts;
};

/**
 * struct kvstash_state_fact - a state that was asked for
 * @tokens:    its aligned length, not 0; more than the prompt's, too, if the prompt
 *             is how it begins
 * @layout:    index in kvstash_engine.layouts
 * @available: not 0: it is there for every rank
 */
struct kvstash_state_fact {
	__u64 tokens;
	__u32 layout;
	__u32 available;
};

/**
 * struct kvstash_facts - what is there of a prompt
 * @page_run:  pages that are there, from the first one on without a gap
 * @states:    in any order
 * @nr_states: up to INT_MAX
 */
struct kvstash_facts {
	__u64 page_run;
	const struct kvstash_state_fact *states;
	size_t nr_states;
};

/**
 * struct kvstash_resume - where to resume, and with what
 * @boundary:  the pages of [0, @boundary) and the states of @state are fetched; 0:
 *             nothing is
 * @start:     from here on it is computed: @boundary, or before it by the largest
 *             window, if states are made again
 * @recompute: tokens to compute: those behind @start
 * @pages:     to fetch, from the first one on; the last may be cut by @boundary
 * @state:     for each layout the index in kvstash_facts.states; all -1: made again,
 *             or none is needed. If that state is longer than @boundary, it is cut
 *             back
 */
struct kvstash_resume {
	__u64 boundary;
	__u64 start;
	__u64 recompute;
	__u64 pages;
	int state[KVSTASH_RESUME_LAYOUTS_MAX];
};

/**
 * kvstash_resume() - where to resume a prompt, by what is there of it
 * @e:   the prompt and the engine
 * @f:   what is there
 * @out: the answer
 *
 * A boundary, 0 < b <= prompt_tokens, is usable if the pages of [0, b) are there
 * and either a state of each layout serves it, and computing starts at b; or all
 * layouts can be replayed on top of the pages, and it starts the largest window
 * before b. One layout that can't be replayed rules that out for all of them, as it
 * would need a state where computing starts. It has to start behind 0, and with
 * least_recompute tokens to go.
 *
 * The answer is the usable boundary with the deepest start; of several the least
 * one, which fetches the fewest bytes. Of the states that serve it, the shortest is
 * named, and of several the first. Nothing is guessed: if no boundary is usable,
 * the answer says @boundary, @start and @pages 0, @recompute prompt_tokens.
 *
 * The time it takes depends on the number of states, not of tokens: at worst on its
 * square, and in practice, with the deepest states last, hardly more than linearly.
 *
 * An engine of several ranks that each have states of their own uses only what all
 * have: see kvstash_stops_common().
 *
 * A pure function: any thread, no client, no memory of its own.
 *
 * Return: 0, also if there is nothing; -EINVAL for too many layouts, a kind of
 * replay that there is not, or bounded without a window, a state of length 0 or of
 * a layout that there is not; @out is untouched then.
 */
int kvstash_resume(const struct kvstash_engine *e, const struct kvstash_facts *f,
		   struct kvstash_resume *out);

/**
 * kvstash_stops_common() - stop points that two ranks have in common
 * @stops: in tokens, ascending, none twice; gets those that are in @other, too
 * @n:     how many
 * @other: likewise, of another rank
 * @m:     how many
 *
 * Each rank has states of its own, and one may have lost what another still has.
 * An engine of several ranks has each ask for its own, intersects what they found,
 * layout by layout, and resolves once, with the same facts for all: ranks that each
 * resolved alone could resume at different boundaries. Of the page runs it takes
 * the least.
 *
 * A pure function: any thread, no client.
 *
 * Return: how many are left in @stops, ascending.
 */
size_t kvstash_stops_common(__u64 *stops, size_t n, const __u64 *other,
			    size_t m);

/**
 * kvstash_reason_name() - short name of a reason, such as "no_space"
 * @reason: enum kvstash_reason
 *
 * Return: a static string; "unknown" if the library does not know the reason.
 */
const char *kvstash_reason_name(unsigned int reason);

/**
 * kvstash_reason_text() - what a reason means, such as
 * "no space: nothing to evict"
 * @reason: enum kvstash_reason
 *
 * Return: a static string; "unknown reason" if the library does not know it.
 */
const char *kvstash_reason_text(unsigned int reason);

/**
 * kvstash_result_format() - a result in one sentence
 * @r:   the result
 * @buf: gets the sentence, cut to @len, always NUL-terminated if @len is not 0
 * @len: bytes at @buf
 *
 * Such as "no space: nothing to evict; 4096 bytes missing (ENOSPC, no_space)":
 * the reason, its detail with its unit, the errno and the reason's name.
 *
 * Return: the length of the whole sentence, as snprintf() does.
 */
int kvstash_result_format(const struct kvstash_result *r, char *buf,
			  size_t len);

/*
 * Builders
 *
 * Each sets all members of an entry: nothing of an earlier use remains. Those
 * named after another (kvstash_prep_put_tag()) add to what that built. A number
 * too large for its member is stored as the largest that the member takes, which
 * the kernel refuses, so that nothing is cut to a valid one. The kind is
 * KVSTASH_KIND_PAGE unless a builder named after the first one says another.
 */

static inline __u64 kvstash_addr(const void *p)
{
	return (__u64)(uintptr_t)p;
}

static inline __u16 kvstash_cap16(size_t v)
{
	return v > UINT16_MAX ? UINT16_MAX : (__u16)v;
}

static inline __u32 kvstash_cap32(size_t v)
{
	return v > UINT32_MAX ? UINT32_MAX : (__u32)v;
}

/** kvstash_prep_seg() - a run of memory */
static inline void kvstash_prep_seg(struct kvstash_seg *s, const void *addr,
				    size_t len)
{
	s->addr = kvstash_addr(addr);
	s->len = len;
}

/** kvstash_segs_len() - bytes of all segments, UINT64_MAX if they overflow */
static inline __u64 kvstash_segs_len(const struct kvstash_seg *segs, size_t nr)
{
	__u64 sum = 0;

	for (size_t i = 0; i < nr; i++)
		if (__builtin_add_overflow(sum, segs[i].len, &sum))
			return UINT64_MAX;
	return sum;
}

/** kvstash_prep_range() - @len bytes from @offset of part @part to @addr */
static inline void kvstash_prep_range(struct kvstash_range *r, size_t part,
				      __u64 offset, void *addr, size_t len)
{
	r->addr = kvstash_addr(addr);
	r->offset = offset;
	r->len = len;
	r->part = kvstash_cap32(part);
	r->reserved = 0;
}

/** kvstash_prep_put() - one part, the only one of its object */
static inline void kvstash_prep_put(struct kvstash_put *e, const void *key,
				    size_t key_len, const void *buf, __u64 len)
{
	memset(e, 0, sizeof(*e));
	e->key = kvstash_addr(key);
	e->key_len = kvstash_cap16(key_len);
	e->buf = kvstash_addr(buf);
	e->part_len = len;
	e->parts = 1;
	e->kind = KVSTASH_KIND_PAGE;
}

/** kvstash_prep_reserve() - the same for kvstash_reserve() */
static inline void kvstash_prep_reserve(struct kvstash_put *e, const void *key,
					size_t key_len, __u64 len)
{
	kvstash_prep_put(e, key, key_len, NULL, len);
}

/**
 * kvstash_prep_put_parent() - the page that precedes this one
 *
 * Of a put into a group it is the parent of the group, and a page in no group.
 */
static inline void kvstash_prep_put_parent(struct kvstash_put *e,
					   const void *parent, size_t len)
{
	e->parent = kvstash_addr(parent);
	e->parent_len = kvstash_cap16(len);
	e->parent_kind = KVSTASH_KIND_PAGE;
}

/** kvstash_prep_put_parent_group() - the group that precedes this one */
static inline void kvstash_prep_put_parent_group(struct kvstash_put *e,
						 const void *parent, size_t len)
{
	kvstash_prep_put_parent(e, parent, len);
	e->parent_kind = KVSTASH_KIND_GROUP;
}

/**
 * kvstash_prep_put_group() - the group that the object is in
 * @e:         the entry
 * @group:     the group's key
 * @group_len: its length in bytes
 * @member:    index of the object, from 0 on
 * @members:   how many members the group expects, 1 to KVSTASH_MEMBERS_MAX. One
 *             that does not fit is stored as 0, which the kernel refuses, too
 * @flags:     KVSTASH_PUT_ATOMIC: no member is visible before all are complete;
 *             KVSTASH_PUT_NO_LINGER; or 0. Added to those of the entry
 *
 * All members have to say the same of the group, its parent among that.
 */
static inline void kvstash_prep_put_group(struct kvstash_put *e,
					  const void *group, size_t group_len,
					  size_t member, size_t members,
					  __u32 flags)
{
	e->group = kvstash_addr(group);
	e->group_len = kvstash_cap16(group_len);
	e->member = kvstash_cap16(member);
	e->members = members > KVSTASH_MEMBERS_MAX ? 0 : (__u16)members;
	e->flags |= flags;
}

/**
 * kvstash_prep_put_state() - what is put, or reserved, is a state
 * @e: the entry, built for the state's one part, whose key is of
 *     kvstash_state_key() and whose length is that of a slot
 *
 * With kvstash_prep_put_parent() or _parent_group() if the layout is tied, and
 * without a parent else.
 */
static inline void kvstash_prep_put_state(struct kvstash_put *e)
{
	e->kind = KVSTASH_KIND_STATE;
}

/**
 * kvstash_prep_put_ttl() - time to live
 * @e:  the entry
 * @ms: milliseconds from when the object is visible; 0: no end. More than
 *      UINT32_MAX (49 days) are stored as that many
 */
static inline void kvstash_prep_put_ttl(struct kvstash_put *e, __u64 ms)
{
	e->ttl_ms = ms > UINT32_MAX ? UINT32_MAX : (__u32)ms;
}

/** kvstash_prep_put_part() - this is part @part of @parts */
static inline void kvstash_prep_put_part(struct kvstash_put *e, size_t part,
					 size_t parts)
{
	e->part = kvstash_cap16(part);
	e->parts = kvstash_cap16(parts);
}

/** kvstash_prep_put_manifest() - digest of KVSTASH_DIGEST_LEN bytes, or NULL */
static inline void kvstash_prep_put_manifest(struct kvstash_put *e,
					     const void *digest)
{
	e->manifest = kvstash_addr(digest);
}

/** kvstash_prep_put_tag() - up to KVSTASH_TAG_MAX bytes that EXISTS returns */
static inline void kvstash_prep_put_tag(struct kvstash_put *e, const void *tag,
					size_t len)
{
	e->tag = kvstash_addr(tag);
	e->tag_len = kvstash_cap16(len);
}

/** kvstash_prep_put_segs() - the bytes lie in segments; sets @part_len too */
static inline void kvstash_prep_put_segs(struct kvstash_put *e,
					 const struct kvstash_seg *segs,
					 size_t nr)
{
	e->buf = kvstash_addr(segs);
	e->nr_segs = kvstash_cap32(nr);
	e->part_len = kvstash_segs_len(segs, nr);
}

/** kvstash_prep_write() - bytes for a reserved part, from @offset on */
static inline void kvstash_prep_write(struct kvstash_write *e,
				      const struct kvstash_handle *handle,
				      __u64 offset, const void *buf, __u64 len)
{
	memset(e, 0, sizeof(*e));
	e->handle = *handle;
	e->offset = offset;
	e->buf = kvstash_addr(buf);
	e->len = len;
}

/** kvstash_prep_write_segs() - the bytes lie in segments; sets @len too */
static inline void kvstash_prep_write_segs(struct kvstash_write *e,
					   const struct kvstash_seg *segs,
					   size_t nr)
{
	e->buf = kvstash_addr(segs);
	e->nr_segs = kvstash_cap32(nr);
	e->len = kvstash_segs_len(segs, nr);
}

/**
 * kvstash_prep_end() - a reserved part for kvstash_commit() or _abort(), or a
 * lease for kvstash_release()
 */
static inline void kvstash_prep_end(struct kvstash_end *e,
				    const struct kvstash_handle *handle)
{
	memset(e, 0, sizeof(*e));
	e->handle = *handle;
}

/** kvstash_prep_get() - a whole object into one buffer */
static inline void kvstash_prep_get(struct kvstash_get *e, const void *key,
				    size_t key_len, void *buf, __u64 len)
{
	memset(e, 0, sizeof(*e));
	e->key = kvstash_addr(key);
	e->key_len = kvstash_cap16(key_len);
	e->buf = kvstash_addr(buf);
	e->len = len;
	e->kind = KVSTASH_KIND_PAGE;
}

/** kvstash_prep_get_segs() - a whole object into segments, one after another */
static inline void kvstash_prep_get_segs(struct kvstash_get *e, const void *key,
					 size_t key_len,
					 const struct kvstash_seg *segs,
					 size_t nr)
{
	kvstash_prep_get(e, key, key_len, NULL, 0);
	e->buf = kvstash_addr(segs);
	e->nr = kvstash_cap32(nr);
}

/** kvstash_prep_get_ranges() - ranges of an object's parts */
static inline void kvstash_prep_get_ranges(struct kvstash_get *e,
					   const void *key, size_t key_len,
					   const struct kvstash_range *ranges,
					   size_t nr)
{
	kvstash_prep_get(e, key, key_len, NULL, 0);
	e->buf = kvstash_addr(ranges);
	e->nr = kvstash_cap32(nr);
	e->flags = KVSTASH_GET_RANGES;
}

/**
 * kvstash_prep_get_state() - what is got is a state
 * @e: the entry; without ranges its buffers have exactly the length of a slot
 */
static inline void kvstash_prep_get_state(struct kvstash_get *e)
{
	e->kind = KVSTASH_KIND_STATE;
}

/**
 * kvstash_prep_layout() - name a layout
 * @l:           the layout; nothing but its name remains
 * @fingerprint: KVSTASH_DIGEST_LEN bytes, not in @l, which are copied
 * @scheme:      version of the scheme that the fingerprint was made by
 */
static inline void kvstash_prep_layout(struct kvstash_layout *l,
				       const void *fingerprint, __u32 scheme)
{
	memset(l, 0, sizeof(*l));
	l->size = sizeof(*l);
	memcpy(l->fingerprint, fingerprint, sizeof(l->fingerprint));
	l->scheme = scheme;
}

/**
 * kvstash_prep_layout_desc() - what the states of a layout look like
 * @l:          the layout
 * @alignment:  tokens: the length of a state is a multiple
 * @slot_bytes: bytes of a state
 * @layers:     the caller's: where in a state each layer is
 * @nr_layers:  how many, 1 to KVSTASH_LAYERS_MAX
 */
static inline void kvstash_prep_layout_desc(struct kvstash_layout *l,
					    size_t alignment, __u64 slot_bytes,
					    const struct kvstash_layer *layers,
					    size_t nr_layers)
{
	l->alignment = kvstash_cap32(alignment);
	l->slot_bytes = slot_bytes;
	l->layers = kvstash_addr(layers);
	l->nr_layers = kvstash_cap32(nr_layers);
}

/** kvstash_prep_layout_tied() - a state goes with the page or group before it */
static inline void kvstash_prep_layout_tied(struct kvstash_layout *l)
{
	l->flags |= KVSTASH_LAYOUT_TIED;
}

/** kvstash_prep_layout_slots() - so many slots, 0 too */
static inline void kvstash_prep_layout_slots(struct kvstash_layout *l,
					     __u64 slots)
{
	l->slots = slots;
	l->pool_permille = 0;
}

/** kvstash_prep_layout_share() - slots for so many thousandths of the pool */
static inline void kvstash_prep_layout_share(struct kvstash_layout *l,
					     size_t permille)
{
	l->slots = 0;
	l->pool_permille = kvstash_cap32(permille);
}

/**
 * kvstash_prep_get_lease() - take a lease on the object, too
 *
 * @e->lease is the lease if @e->r.res is 0. For a lease alone build the entry with
 * kvstash_prep_get() and neither buffer nor length.
 */
static inline void kvstash_prep_get_lease(struct kvstash_get *e)
{
	e->flags |= KVSTASH_GET_LEASE;
}

/**
 * kvstash_prep_get_by_lease() - get what a lease is on, visible or not
 * @e:     the entry, built as for the key, which is no longer looked at
 * @lease: a lease on a page; one on a group has no bytes
 */
static inline void kvstash_prep_get_by_lease(struct kvstash_get *e,
					     const struct kvstash_handle *lease)
{
	e->key = 0;
	e->key_len = 0;
	e->kind = 0;
	e->lease = *lease;
	e->flags |= KVSTASH_GET_BY_LEASE;
}

/** kvstash_prep_keys() - @count keys of @key_len bytes, one after another */
static inline void kvstash_prep_keys(struct kvstash_keys *k, const void *keys,
				     size_t key_len, size_t count)
{
	memset(k, 0, sizeof(*k));
	k->size = sizeof(*k);
	k->keys = kvstash_addr(keys);
	k->key_len = kvstash_cap16(key_len);
	k->count = kvstash_cap32(count);
	k->kind = KVSTASH_KIND_PAGE;
}

/** kvstash_prep_keys_var() - the same for keys with a length each */
static inline void kvstash_prep_keys_var(struct kvstash_keys *k,
					 const void *keys, const __u16 *lens,
					 size_t count)
{
	kvstash_prep_keys(k, keys, 0, count);
	k->lens = kvstash_addr(lens);
}

/** kvstash_prep_keys_tags() - EXISTS: @count areas of KVSTASH_TAG_MAX bytes */
static inline void kvstash_prep_keys_tags(struct kvstash_keys *k, void *tags)
{
	k->tags = kvstash_addr(tags);
}

/** kvstash_prep_keys_group() - the keys are those of groups */
static inline void kvstash_prep_keys_group(struct kvstash_keys *k)
{
	k->kind = KVSTASH_KIND_GROUP;
}

/** kvstash_prep_keys_state() - the keys are those of states */
static inline void kvstash_prep_keys_state(struct kvstash_keys *k)
{
	k->kind = KVSTASH_KIND_STATE;
}

/** kvstash_prep_candidate() - a state that a lookup asks for */
static inline void kvstash_prep_candidate(struct kvstash_candidate *s,
					  const void *key, size_t key_len)
{
	memset(s, 0, sizeof(*s));
	s->key = kvstash_addr(key);
	s->key_len = kvstash_cap16(key_len);
}

/**
 * kvstash_prep_keys_candidates() - LOOKUP: ask for states, too
 * @k:  the keys; of states alone: kvstash_prep_keys(k, NULL, 0, 0)
 * @s:  the caller's candidates; they come back with the answers
 * @nr: how many, up to KVSTASH_CANDIDATES_MAX for kvstash_lookup()
 */
static inline void kvstash_prep_keys_candidates(struct kvstash_keys *k,
						struct kvstash_candidate *s,
						size_t nr)
{
	k->candidates = kvstash_addr(s);
	k->nr_candidates = kvstash_cap32(nr);
	k->candidate_stride = nr ? sizeof(*s) : 0;
}

/**
 * kvstash_prep_keys_lease() - EXISTS and LOOKUP: lease what is visible
 * @k:       the keys
 * @handles: one a key, the caller's: the lease, or all zero for a key that is not
 *           leased. They are written by the call; those of keys that it did not
 *           reach are left as they are. NULL without keys: a candidate has its
 *           lease in itself
 */
static inline void kvstash_prep_keys_lease(struct kvstash_keys *k,
					   struct kvstash_handle *handles)
{
	k->leases = kvstash_addr(handles);
	k->flags |= KVSTASH_KEYS_LEASE;
}

/** kvstash_prep_keys_member() - REMOVE: these members of plain groups only */
static inline void kvstash_prep_keys_member(struct kvstash_keys *k)
{
	k->flags |= KVSTASH_KEYS_MEMBER;
}

/** kvstash_prep_keys_pin() - PIN: KVSTASH_PIN_* */
static inline void kvstash_prep_keys_pin(struct kvstash_keys *k,
					 unsigned int pin)
{
	k->pin = pin > UINT8_MAX ? UINT8_MAX : (__u8)pin;
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* KVSTASH_H */
