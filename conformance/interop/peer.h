/* SPDX-License-Identifier: MIT OR Apache-2.0 */

/*
 * An SCTP peer for interoperability tests, less the stack: user data and its verification, and how
 * the association ends; the command line is in options.h. A file per stack includes this one, after
 * the headers of its stack and after it has defined `peer_socket`, PEER_PORTS and PEER_FEATURES (its parts of the usage text), PEER_STACK (its name), and the numbers of options of RFC 8260:
 * PEER_INTERLEAVING, PEER_SCHEDULER, PEER_STREAM_VALUE and PEER_SCHEDULERS, names and numbers of the stack's (PEER_SCHEDULER_NAMES in the usage text); PEER_ASCONF, of RFC 5061; PEER_PRIORITY, the policy of RFC 7496 §3.2; PEER_SHA_256, whether it has HMACs with it; and PEER_LACKS, features of
 * --with that the stack has not, each with its words.
 *
 * One association carries `--messages` messages of `--size` bytes each way. A client sends at
 * once, message 0 of another size with --first; a server sends after it has received everything, or at once with --duplex. Message i
 * travels on stream i mod streams; its bytes and its PPID are those of payload.h. So every byte,
 * the order on every stream and the PPID are verified.
 *
 * With --partial, messages may be missing, but for the last one of each stream; what comes is in order,
 * or comes once if it is unordered. Each one that is missing is told: MISSING index.
 *
 * With --by-stream, all messages of a stream are sent before those of the next one. As they arrive
 * depends on the stream scheduler; the order on each stream is the same.
 *
 * With --interval, messages are sent in bursts of --burst messages, each burst that many milliseconds
 * after the one before; when a burst is due does not depend on how the ones before it fared.
 *
 * stdout, for the test that runs it:
 *   READY ...                        a server listens
 *   UP out=... in=...                the association is established
 *   QUEUED                           all messages of --by-stream are sent, as far as the program goes
 *   DENIED ...                       the other end refuses what --denied-at asks for
 *   DELETED 1                        the key of that number, by --delete-key-at
 *   PARTS n                          a message came in n parts, by --partial-delivery
 *   PARTIAL DELIVERY ABORTED         the rest of one will not come
 *   RESTART                          the peer restarted, as --expect-restart expects
 *   OK received=... messages=... sum=... sent=... end=shutdown|aborted      exit code 0
 *   FAIL reason                      exit code 1, or 3 when --timeout ran out
 * Exit code 2 is a wrong command line.
 */

#ifndef TRESSE_PEER_H
#define TRESSE_PEER_H

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "failure.h"
#include "options.h"
#include "payload.h"

#define ABORT_REASON "peer asked to abort"

struct received {
	uint64_t bytes, messages, sum;
	uint64_t *next;           /* per stream: the smallest index that may still come */
	bool *seen;               /* per unordered message of which some may be missing */
};

/* setsockopt of the stack at the level of SCTP; fails the test if it does. */
static void set_option(peer_socket sock, int name, const void *value, socklen_t length);
static void hear_of_changes(peer_socket sock);
static void read_parts(peer_socket sock);

/* What every socket of a peer wants: its streams, and to be told of messages and of the end. */
static void set_common_options(peer_socket sock, sa_family_t address_family)
{
	int on = 1;
	struct sctp_rtoinfo timers = {
		.srto_assoc_id = SCTP_FUTURE_ASSOC,
		.srto_initial = 200, .srto_min = 100, .srto_max = 500,
	};
	struct sctp_paddrparams paths = {
		.spp_assoc_id = SCTP_FUTURE_ASSOC, .spp_flags = SPP_HB_ENABLE,
		.spp_hbinterval = 200, .spp_pathmaxrxt = 2,
	};
	struct sctp_initmsg init = {
		.sinit_num_ostreams = options.initial_streams, .sinit_max_instreams = options.streams,
	};
	struct sctp_event event = {
		.se_assoc_id = SCTP_FUTURE_ASSOC, .se_type = SCTP_ASSOC_CHANGE, .se_on = 1,
	};

	set_option(sock, SCTP_INITMSG, &init, sizeof(init));
	set_option(sock, SCTP_RECVRCVINFO, &on, sizeof(on));
	set_option(sock, SCTP_EVENT, &event, sizeof(event));
	hear_of_changes(sock);
	read_parts(sock);
	if (options.no_delay)
		set_option(sock, SCTP_NODELAY, &on, sizeof(on));
	paths.spp_address.ss_family = address_family;
	if (options.fast_failover) {
		set_option(sock, SCTP_RTOINFO, &timers, sizeof(timers));
		set_option(sock, SCTP_PEER_ADDR_PARAMS, &paths, sizeof(paths));
	}
}

static void *allocate(size_t size)
{
	void *memory = calloc(1, size);

	if (memory == NULL)
		fail("out of memory");
	return memory;
}

static void on_alarm(int signal_number)
{
	static const char text[] = "FAIL timeout\n";
	ssize_t written = write(STDOUT_FILENO, text, sizeof(text) - 1);

	(void)signal_number;
	(void)written;
	_exit(3);
}

static void verify(struct received *got, const uint8_t *message, size_t size,
    const struct sctp_rcvinfo *info)
{
	static uint8_t *expected;
	uint16_t stream = info->rcv_sid;

	if (expected == NULL)
		expected = allocate(largest_message());
	uint64_t index = size >= PAYLOAD_MIN ? payload_index(message) : UINT64_MAX;
	if (size != message_size(index))
		fail("message of %zu bytes instead of %u", size, message_size(index));
	if (index >= options.receive_messages)
		fail("message index %" PRIu64 " does not exist", index);
	payload_fill(expected, size, index);
	if (memcmp(expected, message, size) != 0)
		fail("message %" PRIu64 " is corrupt", index);
	if (stream != index % options.streams)
		fail("message %" PRIu64 " came on stream %u", index, stream);
	if (ntohl(info->rcv_ppid) != payload_ppid(index))
		fail("message %" PRIu64 " came with PPID %x", index, ntohl(info->rcv_ppid));
	if (options.unordered != ((info->rcv_flags & SCTP_UNORDERED) != 0))
		fail("message %" PRIu64 " has a wrong U flag", index);
	if (got->seen != NULL) {
		if (got->seen[index])
			fail("message %" PRIu64 " came twice", index);
		got->seen[index] = true;
	}
	if (!options.unordered) {
		for (; options.partial && got->next[stream] < index; got->next[stream] += options.streams)
			printf("MISSING %" PRIu64 "\n", got->next[stream]);
		/* Ordered and reliable: exactly the next one of its stream. */
		if (index != got->next[stream])
			fail("stream %u: message %" PRIu64 " instead of %" PRIu64, stream, index,
			    got->next[stream]);
		got->next[stream] += options.streams;
	}
	got->bytes += size;
	got->messages++;
	got->sum += payload_digest(message, size);
}

/* Whether everything that was to come has come. */
static bool complete(const struct received *got)
{
	if (!options.partial)
		return got->messages == options.receive_messages;
	for (uint16_t i = 0; i < options.streams; i++)
		if (got->seen != NULL ? !got->seen[options.receive_messages - 1 - i] :
		    got->next[i] < options.receive_messages)
			return false;
	return true;
}

/* ---- what a stack provides, in the file that includes this one ---------------------------- */

static void start_stack(void);
static peer_socket establish(void);
/* Like sendmsg with a `struct sctp_sndinfo` and, unless NULL, where to, and when the message is given up. */
static ssize_t stack_send(peer_socket sock, const void *data, size_t size, const struct sockaddr_in *to,
    const struct sctp_sndinfo *info, const struct sctp_prinfo *policy);
/* Like setsockopt and getsockopt at the level IPPROTO_SCTP. */
static int stack_set(peer_socket sock, int option, const void *value, socklen_t length);
static int stack_get(peer_socket sock, int option, void *value, socklen_t *length);
/* Like recvmsg; `known` tells whether `info` was filled in. */
static ssize_t stack_receive(peer_socket sock, void *buffer, size_t room,
    struct sctp_rcvinfo *info, bool *known, int *flags);
/* Like sctp_bindx with one address, to add or to remove it. */
static int stack_bindx(peer_socket sock, struct sockaddr *address, bool add);
static int stack_shutdown(peer_socket sock);
/* Sends what the stack still owes (an ABORT, a SHUTDOWN COMPLETE) and ends it. */
static void stack_close(peer_socket sock);

/* ---- data ------------------------------------------------------------------------------- */

static void choose_policy(struct sctp_prinfo *policy, uint64_t index);
static bool choose_address(struct sockaddr_in *to, uint64_t index);

/* False when the association ended under a peer that was expected to abort it. */
static bool send_message(peer_socket sock, const void *data, size_t size, uint64_t index,
    uint16_t flags)
{
	struct sctp_sndinfo info = {
		.snd_sid = (uint16_t)(index % options.streams),
		.snd_ppid = htonl(payload_ppid(index)),
		.snd_flags = flags,
	};
	struct sctp_prinfo policy = { 0 };
	/* The last one of each stream shows that all has come. */
	bool mortal = (options.timed || options.limited || options.prioritized) && !(flags & SCTP_ABORT) &&
	    index + options.streams < options.send_messages;

	struct sockaddr_in second;
	const struct sockaddr_in *to = choose_address(&second, index) ? &second : NULL;
	info.snd_flags |= to != NULL ? SCTP_ADDR_OVER : 0;
	choose_policy(&policy, index);
	ssize_t sent = stack_send(sock, data, size, to, &info, mortal ? &policy : NULL);

	/* A stream that is being reset may take nothing. */
	while (sent < 0 && errno == EAGAIN && (options.reset_at <= index || options.reset_all_at <= index ||
	    options.denied_at <= index)) {
		usleep(1000);
		sent = stack_send(sock, data, size, to, &info, mortal ? &policy : NULL);
	}
	if (sent == (ssize_t)size)
		return true;
	/* An ABORT of our own leaves no association behind that could tell how much was sent. */
	if (!(flags & SCTP_ABORT) && options.expect != END_ABORT)
		fail("send of message %" PRIu64 ": %s", index, strerror(errno));
	return false;
}

static _Atomic uint64_t sent_bytes;

/* Waits until message `index` is due, counted from `start`. */
static void pace(const struct timespec *start, uint64_t index)
{
	uint64_t after = index / options.burst * options.interval;
	struct timespec due = {
		.tv_sec = start->tv_sec + (time_t)(after / 1000),
		.tv_nsec = start->tv_nsec + (long)(after % 1000) * 1000000,
	};

	if (due.tv_nsec >= 1000000000) {
		due.tv_nsec -= 1000000000;
		due.tv_sec++;
	}
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) == EINTR)
		;
}

#include "extensions.h"

/* The message that is sent as number `n`. */
static uint64_t index_of(uint64_t n)
{
	uint64_t each = options.send_messages / options.streams;

	return options.by_stream ? n % each * options.streams + n / each : n;
}

static void *send_all(void *argument)
{
	peer_socket sock = *(peer_socket *)argument;
	uint8_t *message = allocate(largest_message());
	uint16_t flags = options.unordered ? SCTP_UNORDERED : 0;
	struct timespec start;

	if (options.initial_streams < options.streams)
		add_streams(sock);
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (uint64_t n = 0; n < options.send_messages; n++) {
		uint64_t i = index_of(n);
		payload_fill(message, message_size(i), i);
		if (options.interval != 0 && n % options.burst == 0)
			pace(&start, n);
		if (i == options.reset_at || i == options.ask_reset_at)
			reset(sock, i == options.reset_at);
		if (i == options.denied_at)
			be_denied(sock);
		if (i == options.reset_all_at)
			reset_all(sock);
		if (i == options.change_key_at)
			activate_key(sock, 2);
		if (i == options.delete_key_at)
			delete_key(sock);
		if (i >= options.readdress_at && (i - options.readdress_at) % 100 == 0)
			readdress(sock, (i - options.readdress_at) / 100);
		if (!send_message(sock, message, message_size(i), i, flags))
			break;
		sent_bytes += message_size(i);
	}
	free(message);
	if (options.by_stream) {
		puts("QUEUED");
		fflush(stdout);
	}
	/* Who sends nothing asks all the same. */
	if (options.ask_reset_at != UINT64_MAX && options.ask_reset_at >= options.send_messages) {
		struct timespec then = { .tv_sec = (time_t)(options.ask_reset_at / 1000),
			.tv_nsec = (long)(options.ask_reset_at % 1000) * 1000000 };
		nanosleep(&then, NULL);
		reset(sock, false);
	}
	return NULL;
}

/* Nothing has been received. */
static void begin(struct received *got)
{
	got->bytes = got->messages = got->sum = 0;
	for (uint16_t i = 0; i < options.streams; i++)
		got->next[i] = i;
}

/* Returns how the association ended, or END_NONE while it lives. */
static enum end on_notification(const union sctp_notification *note, struct received *got)
{
	if (note->sn_header.sn_type == SCTP_STREAM_RESET_EVENT || note->sn_header.sn_type == SCTP_STREAM_CHANGE_EVENT)
		on_reconfiguration(note);
	if (note->sn_header.sn_type == SCTP_AUTHENTICATION_EVENT)
		on_key(note);
	if (note->sn_header.sn_type != SCTP_ASSOC_CHANGE)
		return END_NONE;
	const struct sctp_assoc_change *change = &note->sn_assoc_change;
	switch (change->sac_state) {
	case SCTP_COMM_UP:
		printf("UP out=%u in=%u\n", change->sac_outbound_streams, change->sac_inbound_streams);
		fflush(stdout);
		return END_NONE;
	case SCTP_SHUTDOWN_COMP:
		return END_SHUTDOWN;
	case SCTP_COMM_LOST:
		return END_ABORT;
	case SCTP_RESTART:
		if (!options.restart)
			fail("the association was restarted");
		options.restart = false;
		begin(got);
		puts("RESTART");
		fflush(stdout);
		return END_NONE;
	default:
		fail("the association could not be established");
	}
}

#include "messages.h"

/* Ends the association as asked once both directions are complete. */
static void finish(peer_socket sock)
{
	/* The other end may have been first, and the association be over. */
	if (options.close == END_SHUTDOWN && stack_shutdown(sock) != 0 && errno != ENOTCONN)
		fail("shutdown: %s", strerror(errno));
	if (options.close == END_ABORT)
		send_message(sock, ABORT_REASON, strlen(ABORT_REASON), 0, SCTP_ABORT);
}

static enum end exchange(peer_socket sock, struct received *got)
{
	const uint8_t *buffer;
	size_t size;
	pthread_t sender;
	bool sending = !options.server || options.duplex, finished = false;
	struct sctp_rcvinfo info;
	int flags;

	if (!options.server && options.receive_messages == 0) {
		/* The end of its sending would come before the news. */
		buffer = receive(sock, &size, &info, &flags);
		if (flags & MSG_NOTIFICATION)
			on_notification((const union sctp_notification *)buffer, got);
	}
	if (sending && pthread_create(&sender, NULL, send_all, &sock) != 0)
		fail("no thread");
	for (;;) {
		if (!finished && !options.restart && complete(got) && !awaits_news()) {
			finished = true;
			if (sending)
				pthread_join(sender, NULL);
			else
				send_all(&sock);
			finish(sock);
			if (options.close == END_ABORT)
				return END_ABORT;
		}
		buffer = receive(sock, &size, &info, &flags);
		if (flags & MSG_NOTIFICATION) {
			enum end end = on_notification((const union sctp_notification *)buffer,
			    got);
			if (end != END_NONE)
				return end;
		} else {
			verify(got, buffer, size, &info);
		}
	}
}

/* ---- what all do ------------------------------------------------------------------------- */

int main(int argc, char **argv)
{
	struct received got = { 0 };

	parse(argc, argv);
	signal(SIGALRM, on_alarm);
	alarm(options.timeout); /* whatever happens, this process never hangs */
	got.next = allocate(options.streams * sizeof(*got.next));
	if (options.partial && options.unordered)
		got.seen = allocate(options.receive_messages * sizeof(*got.seen));
	begin(&got);
	start_stack();
	peer_socket sock = establish();
	authenticate_association(sock);
	ask_second(sock);
	enum end end = exchange(sock, &got);
	enum end wanted = options.close == END_ABORT ? END_ABORT : options.expect;
	if (end != wanted)
		fail("the association %s", end == END_ABORT ? "was aborted" : "was shut down");
	if (options.restart)
		fail("the peer did not restart");
	if (end == END_SHUTDOWN && !complete(&got))
		fail("shut down after %" PRIu64 " messages", got.messages);
	for (uint64_t i = 0; got.seen != NULL && i < options.receive_messages; i++)
		if (!got.seen[i])
			printf("MISSING %" PRIu64 "\n", i);
	printf("OK received=%" PRIu64 " messages=%" PRIu64 " sum=%016" PRIx64, got.bytes,
	    got.messages, got.sum);
	printf(" sent=%" PRIu64 " end=%s\n", sent_bytes,
	    end == END_ABORT ? "aborted" : "shutdown");
	fflush(stdout);
	stack_close(sock);
	_exit(0);
}

#endif
