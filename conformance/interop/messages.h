/* SPDX-License-Identifier: MIT OR Apache-2.0 */

/*
 * How a peer of peer.h reads messages, whole or in parts. It is included there, behind what a stack provides.
 */

#ifndef TRESSE_PEER_MESSAGES_H
#define TRESSE_PEER_MESSAGES_H

#include "failure.h"

/* What has come of a stream's message so far. Those of several streams may come at a time (RFC 8260). */
struct part {
	uint8_t *bytes;
	size_t have, room;
	unsigned count;           /* in how many parts it came */
};

/* RFC 6458 §8.1.21, §6.1.7: from so many bytes on a part may be read, and it is told when the rest will not come. */
static void read_parts(peer_socket sock)
{
	struct sctp_event aborts = {
		.se_assoc_id = SCTP_FUTURE_ASSOC, .se_type = SCTP_PARTIAL_DELIVERY_EVENT, .se_on = 1,
	};

	if (options.partial_delivery == 0)
		return;
	if (stack_set(sock, SCTP_PARTIAL_DELIVERY_POINT, &options.partial_delivery,
	    sizeof(options.partial_delivery)) != 0 ||
	    stack_set(sock, SCTP_EVENT, &aborts, sizeof(aborts)) != 0)
		fail("partial delivery: %s", strerror(errno));
}

/* Whether the rest of what was read in part will not come. */
static bool is_abandonment(const uint8_t *notification)
{
	const union sctp_notification *note = (const union sctp_notification *)notification;

	if (note->sn_header.sn_type != SCTP_PARTIAL_DELIVERY_EVENT ||
	    note->sn_pdapi_event.pdapi_indication != SCTP_PARTIAL_DELIVERY_ABORTED)
		return false;
	puts("PARTIAL DELIVERY ABORTED");
	return true;
}

/* Adds what has come of a stream's message. */
static void append(struct part *part, const uint8_t *bytes, size_t size)
{
	if (part->have + size > largest_message())
		fail("a message is longer than %u bytes", largest_message());
	if (part->have + size > part->room) {
		part->room = 2 * (part->have + size);
		part->bytes = realloc(part->bytes, part->room);
		if (part->bytes == NULL)
			fail("out of memory");
	}
	memcpy(part->bytes + part->have, bytes, size);
	part->have += size;
}

/* Receives one whole message or notification. It is there until the next one is received. */
static const uint8_t *receive(peer_socket sock, size_t *size, struct sctp_rcvinfo *info, int *flags)
{
	static const size_t room = 1 << 20;
	static uint8_t *buffer;
	static struct part *parts;

	if (buffer == NULL) {
		buffer = allocate(room);
		parts = allocate(options.streams * sizeof(*parts));
	}
	for (;;) {
		bool known = false;
		*flags = 0;
		ssize_t n = stack_receive(sock, buffer, room, info, &known, flags);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			fail("the association ended unannounced: %s", strerror(errno));
		*size = (size_t)n;
		if (*flags & MSG_NOTIFICATION) {
			for (uint16_t i = 0; is_abandonment(buffer) && i < options.streams; i++)
				parts[i].have = parts[i].count = 0;
			return buffer;
		}
		if (!known)
			fail("a message came without its stream number");
		if (info->rcv_sid >= options.streams)
			fail("a message came on stream %u", info->rcv_sid);
		struct part *part = &parts[info->rcv_sid];
		append(part, buffer, *size);
		part->count++;
		if (*flags & MSG_EOR) { /* a long message may come in parts */
			if (options.partial_delivery != 0 && part->count > 1)
				printf("PARTS %u\n", part->count);
			*size = part->have;
			part->have = part->count = 0;
			return part->bytes;
		}
	}
}

#endif
