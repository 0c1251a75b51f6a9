/* SPDX-License-Identifier: GPL-2.0 */
/* Tracepoints: what happens to objects, groups and leases. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM kvstash

#if !defined(KVS_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define KVS_TRACE_H

#include <linux/tracepoint.h>

#include "object.h"

TRACE_DEFINE_ENUM(KVS_KILL_REMOVE);
TRACE_DEFINE_ENUM(KVS_KILL_EVICT);
TRACE_DEFINE_ENUM(KVS_KILL_COLLECT);
TRACE_DEFINE_ENUM(KVS_KILL_EMPTY);
TRACE_DEFINE_ENUM(KVS_KILL_WITH_PARENT);
TRACE_DEFINE_ENUM(KVS_KILL_EXPIRE);

/* Keys are opaque: an object is told by its hash, and where it is. */
DECLARE_EVENT_CLASS(kvstash_object,
		    TP_PROTO(const struct kvs_object *obj),
		    TP_ARGS(obj),
		    TP_STRUCT__entry(__array(char, ns, KVSTASH_NAME_MAX)
				     __field(u64, hash)
				     __field(u64, bytes)
				     __field(u8, kind)),
		    TP_fast_assign(memcpy(__entry->ns, obj->ns->name, KVSTASH_NAME_MAX);
				   __entry->hash = obj->hash;
				   __entry->bytes = obj->bytes;
				   __entry->kind = obj->kind;),
		    TP_printk("ns=%s kind=%u hash=%016llx bytes=%llu", __entry->ns,
			      __entry->kind, __entry->hash, __entry->bytes));

DEFINE_EVENT(kvstash_object, kvstash_publish,
	     TP_PROTO(const struct kvs_object *obj),
	     TP_ARGS(obj));

DEFINE_EVENT(kvstash_object, kvstash_get,
	     TP_PROTO(const struct kvs_object *obj),
	     TP_ARGS(obj));

TRACE_EVENT(kvstash_kill,
	    TP_PROTO(const struct kvs_object *obj, u8 why),
	    TP_ARGS(obj, why),
	    TP_STRUCT__entry(__array(char, ns, KVSTASH_NAME_MAX)
			     __field(u64, hash)
			     __field(u64, bytes)
			     __field(u8, kind)
			     __field(u8, why)),
	    TP_fast_assign(memcpy(__entry->ns, obj->ns->name, KVSTASH_NAME_MAX);
			   __entry->hash = obj->hash;
			   __entry->bytes = obj->bytes;
			   __entry->kind = obj->kind;
			   __entry->why = why;),
	    TP_printk("ns=%s kind=%u hash=%016llx bytes=%llu why=%s", __entry->ns,
		      __entry->kind, __entry->hash, __entry->bytes,
		      __print_symbolic(__entry->why,
				       { KVS_KILL_REMOVE, "remove" },
				       { KVS_KILL_EVICT, "evict" },
				       { KVS_KILL_COLLECT, "collect" },
				       { KVS_KILL_EMPTY, "empty" },
				       { KVS_KILL_WITH_PARENT, "parent" },
				       { KVS_KILL_EXPIRE, "expire" })));

DECLARE_EVENT_CLASS(kvstash_leases,
		    TP_PROTO(u64 client, const struct kvs_object *obj, u64 seq),
		    TP_ARGS(client, obj, seq),
		    TP_STRUCT__entry(__field(u64, client)
				     __field(u64, hash)
				     __field(u64, seq)),
		    TP_fast_assign(__entry->client = client;
				   __entry->hash = obj->hash;
				   __entry->seq = seq;),
		    TP_printk("client=%llx hash=%016llx seq=%llx", __entry->client,
			      __entry->hash, __entry->seq));

DEFINE_EVENT(kvstash_leases, kvstash_lease,
	     TP_PROTO(u64 client, const struct kvs_object *obj, u64 seq),
	     TP_ARGS(client, obj, seq));

DEFINE_EVENT(kvstash_leases, kvstash_release,
	     TP_PROTO(u64 client, const struct kvs_object *obj, u64 seq),
	     TP_ARGS(client, obj, seq));

#endif /* KVS_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
