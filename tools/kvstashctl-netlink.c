// SPDX-License-Identifier: GPL-2.0
/*
 * kvstashctl: requests to the control family, answers and refusals
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <linux/netlink.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>

#include "kvstashctl.h"

/**
 * struct call - one request on its way
 * @ctl:  the program's state, for the replies
 * @req:  the request
 * @done: its end has come
 * @err:  errno of its refusal, or 0
 * @text: the kernel's words for that
 */
struct call {
	struct ctl *ctl;
	const struct netlink_request *req;
	bool done;
	int err;
	char text[256];
};

static struct nl_sock *sock;
static int family;

static int open_failed(struct ctl *ctl, const char *what, int nlerr)
{
	return out_fail(ctl, 0, NULL, "%s: %s", what, nl_geterror(nlerr));
}

static int sock_option(int option)
{
	int one = 1;

	return setsockopt(nl_socket_get_fd(sock), SOL_NETLINK, option, &one,
			  sizeof(one));
}

static int open_family(struct ctl *ctl)
{
	int ret;

	if (sock)
		return 0;
	sock = nl_socket_alloc();
	if (!sock)
		out_no_memory();
	ret = genl_connect(sock);
	if (ret < 0)
		return open_failed(ctl, "cannot open netlink", ret);
	/* an answer may be larger than a page */
	nl_socket_enable_msg_peek(sock);
	family = genl_ctrl_resolve(sock, KVSTASH_GENL_NAME);
	if (family < 0)
		return out_fail(ctl, ENOENT, NULL,
				"no netlink family \"%s\" (ENOENT): is the module loaded?",
				KVSTASH_GENL_NAME);
	if (sock_option(NETLINK_EXT_ACK) || sock_option(NETLINK_CAP_ACK))
		return out_fail(ctl, errno, NULL,
				"cannot ask netlink for texts: %s",
				strerror(errno));
	return 0;
}

struct nl_msg *netlink_message(const struct netlink_request *req)
{
	struct nl_msg *msg = nlmsg_alloc_size(16384);

	/* The family's number is not known before the socket is open. */
	if (!msg || !genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, 0, 0,
				 req->dump ? NLM_F_DUMP : 0, req->cmd,
				 KVSTASH_GENL_VERSION))
		out_no_memory();
	return msg;
}

/* 16 KiB are enough for any valid request: what is left out is too long. */
static void put(struct nl_msg *msg, int attr, const void *p, size_t len)
{
	if (len > 8192 || nla_put(msg, attr, (int)len, p) < 0)
		nlmsg_hdr(msg)->nlmsg_type = NLMSG_OVERRUN;
}

void netlink_put_str(struct nl_msg *msg, int attr, const char *s)
{
	put(msg, attr, s, strlen(s) + 1);
}

void netlink_put_bytes(struct nl_msg *msg, int attr, const void *p, size_t len)
{
	put(msg, attr, p, len);
}

void netlink_put_u64(struct nl_msg *msg, int attr, __u64 v)
{
	put(msg, attr, &v, sizeof(v));
}

void netlink_put_u32(struct nl_msg *msg, int attr, __u32 v)
{
	put(msg, attr, &v, sizeof(v));
}

void netlink_put_u8(struct nl_msg *msg, int attr, __u8 v)
{
	put(msg, attr, &v, sizeof(v));
}

/* The kernel's text, which names the attribute that it is about. */
static void take_extack(struct call *call, void *tlvs, int len)
{
	struct nlattr *tb[NLMSGERR_ATTR_MAX + 1];

	if (len <= 0 || nla_parse(tb, NLMSGERR_ATTR_MAX, tlvs, len, NULL) < 0)
		return;
	if (tb[NLMSGERR_ATTR_MSG])
		nla_strlcpy(call->text, tb[NLMSGERR_ATTR_MSG],
			    sizeof(call->text));
}

static int on_error(struct sockaddr_nl *from, struct nlmsgerr *e, void *arg)
{
	struct nlmsghdr *nlh = (void *)((char *)e - NLMSG_HDRLEN);
	struct call *call = arg;
	unsigned int at = sizeof(*e);

	(void)from;
	call->done = true;
	call->err = e->error < 0 ? -e->error : EPROTO;
	if (!(nlh->nlmsg_flags & NLM_F_ACK_TLVS))
		return NL_STOP;
	/* the refused request stands between, but for its header, if not capped */
	if (!(nlh->nlmsg_flags & NLM_F_CAPPED))
		at += NLMSG_ALIGN(e->msg.nlmsg_len) - NLMSG_HDRLEN;
	take_extack(call, (char *)e + at, nlmsg_datalen(nlh) - (int)at);
	return NL_STOP;
}

/* The end of a dump has an errno of its own. */
static int on_finish(struct nl_msg *msg, void *arg)
{
	struct nlmsghdr *nlh = nlmsg_hdr(msg);
	struct call *call = arg;
	int err = 0;

	call->done = true;
	if (nlmsg_datalen(nlh) < (int)sizeof(err))
		return NL_STOP;
	memcpy(&err, nlmsg_data(nlh), sizeof(err));
	if (err >= 0)
		return NL_STOP;
	call->err = -err;
	if (nlh->nlmsg_flags & NLM_F_ACK_TLVS)
		take_extack(call, (char *)nlmsg_data(nlh) + sizeof(err),
			    nlmsg_datalen(nlh) - (int)sizeof(err));
	return NL_STOP;
}

static int on_ack(struct nl_msg *msg, void *arg)
{
	struct call *call = arg;

	(void)msg;
	call->done = true;
	return NL_STOP;
}

static int on_reply(struct nl_msg *msg, void *arg)
{
	struct call *call = arg;
	struct nlattr *tb[32];	/* more than any enum has */

	if (call->req->max >= (int)ARRAY_SIZE(tb) ||
	    genlmsg_parse(nlmsg_hdr(msg), 0, tb, call->req->max,
			  call->req->policy) < 0) {
		call->err = EPROTO;
		return NL_SKIP;	/* the end is still to come */
	}
	if (call->req->reply && !call->err)
		call->req->reply(call->ctl, tb);
	return NL_OK;
}

/* Sends, and receives until the end; a libnl error or 0. */
static int transfer(struct call *call, struct nl_msg *msg)
{
	struct nl_cb *cb = nl_cb_alloc(NL_CB_DEFAULT);
	int ret;

	if (!cb)
		out_no_memory();
	nl_cb_err(cb, NL_CB_CUSTOM, on_error, call);
	nl_cb_set(cb, NL_CB_FINISH, NL_CB_CUSTOM, on_finish, call);
	nl_cb_set(cb, NL_CB_ACK, NL_CB_CUSTOM, on_ack, call);
	nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, on_reply, call);
	ret = nl_send_auto(sock, msg);
	while (ret >= 0 && !call->done)
		ret = nl_recvmsgs(sock, cb);
	nl_cb_put(cb);
	return ret < 0 && !call->err ? ret : 0;
}

static int refused(struct ctl *ctl, const struct call *call)
{
	const char *name = strerrorname_np(call->err);

	if (!name)
		name = "unknown errno";
	if (call->text[0])
		return out_fail(ctl, call->err, NULL, "%s (%s)", call->text,
				name);
	return out_fail(ctl, call->err, NULL, "%s (%s)", strerror(call->err),
			name);
}

int netlink_do(struct ctl *ctl, const struct netlink_request *req,
	       struct nl_msg *msg)
{
	struct call call = { .ctl = ctl, .req = req };
	int code, ret;

	if (nlmsg_hdr(msg)->nlmsg_type == NLMSG_OVERRUN) {
		nlmsg_free(msg);
		return out_usage(ctl, "an operand is too long");
	}
	code = open_family(ctl);
	if (code) {
		nlmsg_free(msg);
		return code;
	}
	nlmsg_hdr(msg)->nlmsg_type = (__u16)family;
	ret = transfer(&call, msg);
	nlmsg_free(msg);
	if (call.err)
		return call.err == req->fine ? 0 : refused(ctl, &call);
	if (ret == -NLE_DUMP_INTR)
		return out_fail(ctl, EINTR, NULL,
				"the list changed while it was read (EINTR)");
	if (ret)
		return out_fail(ctl, 0, NULL, "netlink: %s", nl_geterror(ret));
	return 0;
}

/* That there is a pool or namespace of that name */
static int known(struct ctl *ctl, int cmd, int attr, const char *name)
{
	const struct netlink_request req = { .cmd = cmd, .fine = EPERM };
	struct nl_msg *msg = netlink_message(&req);

	netlink_put_str(msg, attr, name);
	return netlink_do(ctl, &req, msg);
}

int netlink_list_of(struct ctl *ctl, const char *ns, const char *pool, int code)
{
	if (code || ctl->items)
		return code;
	if (ns)
		code = known(ctl, KVSTASH_CMD_NS_GET, KVSTASH_A_NS_NAME, ns);
	if (!code && pool)
		code = known(ctl, KVSTASH_CMD_POOL_GET, KVSTASH_A_POOL_NAME, pool);
	return code;
}

void netlink_set_u64(json_t *o, const char *name, struct nlattr *a)
{
	if (a)
		out_set_u64(o, name, nla_get_u64(a));
}

void netlink_set_u32(json_t *o, const char *name, struct nlattr *a)
{
	if (a)
		out_set_u64(o, name, nla_get_u32(a));
}

void netlink_set_s32(json_t *o, const char *name, struct nlattr *a)
{
	if (a)
		out_set(o, name, json_integer(nla_get_s32(a)));
}

void netlink_set_u16(json_t *o, const char *name, struct nlattr *a)
{
	if (a)
		out_set_u64(o, name, nla_get_u16(a));
}

void netlink_set_str(json_t *o, const char *name, struct nlattr *a)
{
	if (a)
		out_set(o, name, json_string(nla_get_string(a)));
}

void netlink_set_bytes(json_t *o, const char *name, struct nlattr *a)
{
	out_set_bytes(o, name, a ? nla_data(a) : NULL,
		      a ? (size_t)nla_len(a) : 0);
}
