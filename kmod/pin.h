/* SPDX-License-Identifier: GPL-2.0 */
/* Pins: what is evicted last, or never. */
#ifndef KVS_PIN_H
#define KVS_PIN_H

#include "object.h"

int kvs_pin(struct kvs_object *obj, u8 pin, struct kvstash_result *r);
void kvs_pin_end(struct kvs_object *obj);

#endif /* KVS_PIN_H */
