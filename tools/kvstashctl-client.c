// SPDX-License-Identifier: GPL-2.0
/*
 * kvstashctl: the device, and what its results mean for the exit code
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>

#include "kvstashctl.h"

int client_reason_code(unsigned int reason)
{
	switch (reason) {
	case KVSTASH_R_OK:
		return CODE_OK;
	case KVSTASH_R_MISS:
	case KVSTASH_R_IN_FLIGHT:
	case KVSTASH_R_INCOMPLETE:
	case KVSTASH_R_PARENT_PENDING:
	case KVSTASH_R_EXISTS:
	case KVSTASH_R_EXPIRED:
	case KVSTASH_R_GROUP_INCOMPLETE:
		return CODE_NO;
	default:
		return CODE_FAILED;
	}
}

int client_code(const struct kvstash_result *r)
{
	if (!r->res)
		return CODE_OK;
	/* busy is a refusal, though its reason may be a fact elsewhere */
	if (r->res == -EBUSY)
		return CODE_FAILED;
	return r->reason == KVSTASH_R_OK ? CODE_FAILED :
					   client_reason_code(r->reason);
}

int client_worse(int a, int b)
{
	return a > b ? a : b;
}

const char *client_state_name(unsigned int state)
{
	static const char *const names[] = {
		[KVSTASH_STATE_ABSENT] = "absent",
		[KVSTASH_STATE_FILLING] = "filling",
		[KVSTASH_STATE_WAITING] = "waiting",
		[KVSTASH_STATE_VISIBLE] = "visible",
		[KVSTASH_STATE_EXPIRED] = "expired",
	};

	return state < ARRAY_SIZE(names) ? names[state] : "unknown";
}

const char *const client_pin_names[CLIENT_PINS] = {
	[KVSTASH_PIN_NONE] = "none",
	[KVSTASH_PIN_SOFT] = "soft",
	[KVSTASH_PIN_HARD] = "hard",
};

const char *client_pin_name(unsigned int pin)
{
	return pin < CLIENT_PINS ? client_pin_names[pin] : "unknown";
}

static const char *errno_name(int err)
{
	const char *name = strerrorname_np(err);

	return name ? name : "unknown errno";
}

int client_failed(struct ctl *ctl, int ret)
{
	const char *name;
	unsigned int reason, field;

	kvstash_last_refusal(ctl->client, &reason, &field);
	if (reason == KVSTASH_R_OK)
		return out_fail(ctl, -ret, NULL, "%s (%s)", strerror(-ret),
				errno_name(-ret));
	name = kvstash_reason_name(reason);
	return out_fail(ctl, -ret, name, "%s (%s, %s)",
			kvstash_reason_text(reason), errno_name(-ret), name);
}

int client_refused(struct ctl *ctl, const char *what,
		   const struct kvstash_result *r)
{
	char text[256];

	kvstash_result_format(r, text, sizeof(text));
	out_fail(ctl, -r->res, kvstash_reason_name(r->reason), "%s: %s", what,
		 text);
	return client_code(r);
}

static int bind_failed(struct ctl *ctl, int ret)
{
	unsigned int reason;
	const char *name;

	kvstash_last_refusal(ctl->client, &reason, NULL);
	name = reason == KVSTASH_R_OK ? NULL : kvstash_reason_name(reason);
	return out_fail(ctl, -ret, name, "namespace %s: %s (%s%s%s)", ctl->ns,
			name ? kvstash_reason_text(reason) : strerror(-ret),
			errno_name(-ret), name ? ", " : "", name ? name : "");
}

struct kvstash *client_open(struct ctl *ctl)
{
	int ret = kvstash_open(&ctl->client, NULL, 0);

	if (ret) {
		out_fail(ctl, -ret, NULL, "cannot open %s: %s (%s)%s",
			 KVSTASH_DEVICE, strerror(-ret), errno_name(-ret),
			 ret == -ENOENT ? ": is the module loaded?" : "");
		return NULL;
	}
	if (ctl->ns) {
		ret = kvstash_bind(ctl->client, ctl->ns);
		if (ret) {
			bind_failed(ctl, ret);
			return NULL;
		}
	}
	return ctl->client;
}
