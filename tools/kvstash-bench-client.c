// SPDX-License-Identifier: GPL-2.0
/* kvstash-bench: clients of the store */
#include <string.h>

#include <kvstash.h>

#include "kvstash-bench.h"

/* Of a namespace, or (NULL) of that of the device; there is none: the program ends. */
struct kvstash *client_open(const char *ns)
{
	unsigned int reason;
	struct kvstash *c;
	int err = kvstash_open(&c, NULL, 0);

	if (err)
		die("%s: %s", KVSTASH_DEVICE, strerror(-err));
	err = ns ? kvstash_bind(c, ns) : 0;
	if (!err)
		return c;
	kvstash_last_refusal(c, &reason, NULL);
	die("namespace %s: %s", ns, reason == KVSTASH_R_OK ? strerror(-err) :
							     kvstash_reason_text(reason));
}
