/* SPDX-License-Identifier: MIT OR Apache-2.0 */

/*
 * The command line of a peer for interoperability tests. Whoever includes this defines
 * PEER_PORTS, PEER_FEATURES, PEER_SCHEDULER_NAMES, PEER_STACK and PEER_LACKS before, as peer.h
 * describes them.
 */

#ifndef TRESSE_PEER_OPTIONS_H
#define TRESSE_PEER_OPTIONS_H

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "payload.h"

#define MAX_MESSAGE (8u << 20)

/* How the association ends on this side, or ended. */
enum end { END_NONE, END_WAIT, END_SHUTDOWN, END_ABORT };

struct options {
	bool server;
	const char *address;      /* ours; several, with commas between, where the stack can */
	const char *peer;         /* the peer's; the same as ours if not given */
	uint16_t udp, port, peer_udp, peer_port;
	uint64_t send_messages;   /* how many this side sends */
	uint64_t receive_messages;
	uint32_t size;            /* bytes of each message, both ways */
	uint32_t first;           /* those of message 0, if it is a large one among small ones */
	bool uneven;              /* those of every second stream are twice as long */
	uint16_t streams;
	uint32_t mtu;             /* largest IP packet */
	uint64_t interval;        /* milliseconds from one burst to the next; 0: as fast as it goes */
	uint64_t burst;           /* messages of a burst */
	uint16_t initial_streams; /* with which the association begins; the rest is added (RFC 6525) */
	bool add_streams;         /* this side asks for the rest, in both directions */
	uint64_t reset_at;        /* before this message its streams begin again */
	uint64_t ask_reset_at;    /* before this one it asks the other end to let its streams begin again */
	uint64_t denied_at;       /* before this one it asks for all of that and for more streams, and is denied it */
	uint64_t reset_all_at;    /* before this one all streams of both directions begin again, and the TSNs */
	uint64_t change_key_at;   /* from this message on it authenticates with key 2 (RFC 4895) */
	uint64_t delete_key_at;   /* before this one key 1 is deactivated and deleted; it receives meanwhile */
	bool association_key;     /* key 2 of the endpoint is another one, and that of the association the right one */
	uint64_t readdress_at;    /* from this message on its addresses change, step by step (RFC 5061) */
	uint32_t lifetime;        /* milliseconds after which a message is given up (RFC 3758) */
	uint32_t retransmissions; /* after how many it is (RFC 7496) */
	uint32_t priorities[2];   /* of every second message of a stream, and of the others (RFC 7496) */
	bool timed, limited, prioritized; /* which of the three holds */
	uint32_t send_buffer;     /* bytes that may wait here; 0: as the stack has it */
	bool partial;             /* what comes may lack messages, but for the last one of each stream */
	uint32_t partial_delivery; /* from how many bytes on a part of a message is read; 0: as the stack has it */
	uint64_t destine_every;   /* one of so many messages of the second half goes to the second address of --peer */
	uint32_t ask_second;      /* HB.interval in milliseconds of that one; the first one has no heartbeats */
	bool unordered, duplex;
	bool by_stream;           /* all messages of a stream are sent before those of the next one */
	const char *scheduler;    /* which stream sends next (RFC 8260) */
	bool no_delay;            /* small messages do not wait for company (SCTP_NODELAY) */
	enum end close;           /* what this side does when both directions are complete */
	enum end expect;          /* END_ABORT: the peer's ABORT is the expected end */
	bool restart;             /* the peer restarts once, and then everything begins again */
	bool fast_failover;       /* notices within a second or two that a path has failed */
	unsigned timeout;         /* seconds */
	const char *with;         /* what the stack is to use beyond its defaults */
};

static struct options options = {
	.address = "127.0.0.1", .send_messages = 10000, .receive_messages = 10000, .size = 1000,
	.streams = 1, .mtu = 1500, .burst = 1, .close = END_NONE, .expect = END_SHUTDOWN, .timeout = 60, .with = "",
	.reset_at = UINT64_MAX, .ask_reset_at = UINT64_MAX, .reset_all_at = UINT64_MAX, .change_key_at = UINT64_MAX,
	.readdress_at = UINT64_MAX, .denied_at = UINT64_MAX,
	.delete_key_at = UINT64_MAX,
};

__attribute__((noreturn))
static void usage(const char *problem)
{
	fprintf(stderr,
	    "%s\n"
	    "usage: peer server|client " PEER_PORTS "\n"
	    "  --address IP,...     our end (127.0.0.1)\n"
	    "  --peer IP            the other end (the same)\n"
	    "  --messages N         each way (10000); --send N, --receive N for one way\n"
	    "  --size BYTES         of each message, at least 8 (1000)\n"
	    "  --first BYTES        of message 0, if it is larger\n"
	    "  --uneven             those of every second stream are twice as long\n"
	    "  --streams N          in each direction (1)\n"
	    "  --mtu BYTES          largest IP packet, at most 9000 (1500)\n"
	    "  --interval MS        from the start of one burst to the next (0: no pause)\n"
	    "  --burst N            messages of a burst (1)\n"
	    "  --no-delay           small messages do not wait for company\n"
	    "  --initial-streams N  with which the association begins (all)\n"
	    "  --add-streams        ask for the rest, in both directions\n"
	    "  --reset-at N         before message N its streams begin again\n"
	    "  --ask-reset-at N     before message N it asks the other end to reset its streams\n"
	    "  --denied-at N        before message N it asks for all of that and for a stream more, and is denied it\n"
	    "  --reset-all-at N     before message N all streams of both directions begin again, and the TSNs\n"
	    "  --change-key-at N    from message N on it authenticates with key 2\n"
	    "  --delete-key-at N    before message N it deactivates and deletes key 1\n"
	    "  --association-key    the right key 2 is that of the association, not that of the endpoint\n"
	    "  --readdress-at N     from message N on its addresses change, a step every 100 messages\n"
	    "  --lifetime MS        give up messages that are older, but for the last one of each stream\n"
	    "  --retransmissions N  give up messages that would be sent again more often\n"
	    "  --priorities A,B     every second message of a stream has A, the others B: a full buffer gives up those\n"
	    "                       of the higher number\n"
	    "  --send-buffer BYTES  that may wait to be sent\n"
	    "  --partial            what comes may lack messages, but for the last one of each stream\n"
	    "  --partial-delivery BYTES  from how many on a part of a message is read\n"
	    "  --destine-every N    one of N messages of the second half goes to the second address of --peer\n"
	    "  --ask-second MS      heartbeats to that one alone, this often if RTO is left out\n"
	    "  --by-stream          send all messages of a stream before those of the next one\n"
	    "  --scheduler NAME     which stream sends next: " PEER_SCHEDULER_NAMES ". By priority\n"
	    "                       the last stream is the most important one; stream N has weight N + 1\n"
	    "  --unordered          send and expect unordered messages\n"
	    "  --duplex             a server, too, sends from the start\n"
	    "  --close HOW          shutdown, abort or wait (client: shutdown, server: wait)\n"
	    "  --expect-abort       the peer's ABORT is the expected end, at any time\n"
	    "  --expect-restart     the peer restarts once, and then everything begins anew\n"
	    "  --fast-failover      notice within a second or two that a path has failed\n"
	    "  --timeout SECONDS    (60)\n"
	    "  --with FEATURES      to switch on, with commas between: " PEER_FEATURES "\n",
	    problem);
	exit(2);
}

/* The value of the option being parsed. */
static uint64_t number(uint64_t low, uint64_t high)
{
	char *end;

	errno = 0;
	uint64_t value = strtoull(optarg, &end, 10);
	if (*optarg == '\0' || *end != '\0' || errno != 0 || value < low || value > high)
		usage("a number is malformed or out of range");
	return value;
}

/* Bytes of message `index`. */
__attribute__((unused))
static uint32_t message_size(uint64_t index)
{
	bool longer = options.uneven && index % options.streams % 2 == 1;

	if (index == 0 && options.first != 0)
		return options.first;
	return longer ? 2 * options.size : options.size;
}

/* Bytes of the largest message. */
__attribute__((unused))
static uint32_t largest_message(void)
{
	uint32_t most = options.uneven ? 2 * options.size : options.size;

	return options.first > most ? options.first : most;
}

/* Whether --with names a feature. */
__attribute__((unused))
static bool with(const char *feature)
{
	size_t length = strlen(feature);

	for (const char *at = options.with; at != NULL; at = strchr(at, ',')) {
		at += *at == ',';
		if (strncmp(at, feature, length) == 0 && (at[length] == ',' || at[length] == '\0'))
			return true;
	}
	return false;
}

static enum end close_mode(const char *text)
{
	static const char *const names[] = { "wait", "shutdown", "abort" };

	for (int i = 0; i < 3; i++)
		if (strcmp(text, names[i]) == 0)
			return (enum end)(END_WAIT + i);
	usage("--close shutdown, abort or wait?");
}

static void parse(int argc, char **argv)
{
	static const struct option names[] = {
		{ "udp", 1, 0, 'u' }, { "port", 1, 0, 'p' }, { "peer-udp", 1, 0, 'U' },
		{ "peer-port", 1, 0, 'P' }, { "address", 1, 0, 'a' }, { "messages", 1, 0, 'm' },
		{ "send", 1, 0, 's' }, { "receive", 1, 0, 'r' }, { "size", 1, 0, 'b' },
		{ "streams", 1, 0, 'n' }, { "mtu", 1, 0, 'M' }, { "unordered", 0, 0, 'o' },
		{ "peer", 1, 0, 'A' },
		{ "duplex", 0, 0, 'd' }, { "close", 1, 0, 'c' }, { "expect-abort", 0, 0, 'x' },
		{ "timeout", 1, 0, 't' }, { "with", 1, 0, 'w' },
		{ "interval", 1, 0, 'I' }, { "burst", 1, 0, 'B' }, { "no-delay", 0, 0, 'N' },
		{ "initial-streams", 1, 0, 'S' }, { "add-streams", 0, 0, 'D' }, { "reset-at", 1, 0, 'T' },
		{ "ask-reset-at", 1, 0, 'Q' }, { "lifetime", 1, 0, 'L' }, { "retransmissions", 1, 0, 'X' },
		{ "partial", 0, 0, 'l' }, { "change-key-at", 1, 0, 'K' },
		{ "first", 1, 0, 'F' }, { "readdress-at", 1, 0, 'E' },
		{ "uneven", 0, 0, 'v' }, { "by-stream", 0, 0, 'q' }, { "scheduler", 1, 0, 'C' },
		{ "reset-all-at", 1, 0, 'W' }, { "denied-at", 1, 0, 'G' },
		{ "partial-delivery", 1, 0, 'g' },
		{ "destine-every", 1, 0, 'e' }, { "ask-second", 1, 0, 'h' }, { "delete-key-at", 1, 0, 'k' }, { "association-key", 0, 0, 'j' }, { "priorities", 1, 0, 'y' }, { "send-buffer", 1, 0, 'z' },
		{ "expect-restart", 0, 0, 'R' }, { "fast-failover", 0, 0, 'i' }, { 0 },
	};
	const uint64_t most = 1u << 31;
	int name;

	if (argc < 2 || (strcmp(argv[1], "server") != 0 && strcmp(argv[1], "client") != 0))
		usage("server or client?");
	options.server = strcmp(argv[1], "server") == 0;
	options.close = options.server ? END_WAIT : END_SHUTDOWN;
	optind = 2;
	while ((name = getopt_long(argc, argv, "", names, NULL)) != -1) {
		switch (name) {
		case 'u': options.udp = (uint16_t)number(1, 65535); break;
		case 'p': options.port = (uint16_t)number(1, 65535); break;
		case 'U': options.peer_udp = (uint16_t)number(1, 65535); break;
		case 'P': options.peer_port = (uint16_t)number(1, 65535); break;
		case 'a': options.address = optarg; break;
		case 'A': options.peer = optarg; break;
		case 'm': options.send_messages = options.receive_messages = number(0, most); break;
		case 's': options.send_messages = number(0, most); break;
		case 'r': options.receive_messages = number(0, most); break;
		case 'b': options.size = (uint32_t)number(PAYLOAD_MIN, MAX_MESSAGE); break;
		case 'F': options.first = (uint32_t)number(PAYLOAD_MIN, MAX_MESSAGE); break;
		case 'n': options.streams = (uint16_t)number(1, 2048); break;
		case 'M': options.mtu = (uint32_t)number(576, 9000); break;
		case 'I': options.interval = number(0, 3600000); break;
		case 'B': options.burst = number(1, most); break;
		case 'N': options.no_delay = true; break;
		case 'o': options.unordered = true; break;
		case 'd': options.duplex = true; break;
		case 'c': options.close = close_mode(optarg); break;
		case 'x': options.expect = END_ABORT; break;
		case 'R': options.restart = true; break;
		case 'i': options.fast_failover = true; break;
		case 't': options.timeout = (unsigned)number(1, 3600); break;
		case 'w': options.with = optarg; break;
		case 'S': options.initial_streams = (uint16_t)number(1, 2048); break;
		case 'D': options.add_streams = true; break;
		case 'T': options.reset_at = number(0, most); break;
		case 'Q': options.ask_reset_at = number(0, most); break;
		case 'g': options.partial_delivery = (uint32_t)number(1, most); break;
		case 'e': options.destine_every = number(1, most); break;
		case 'h': options.ask_second = (uint32_t)number(1, 3600000); break;
		case 'k': options.delete_key_at = number(0, most); break;
		case 'j': options.association_key = true; break;
		case 'G': options.denied_at = number(0, most); break;
		case 'W': options.reset_all_at = number(0, most); break;
		case 'z': options.send_buffer = (uint32_t)number(1000, most); break;
		case 'y':
			if (sscanf(optarg, "%u,%u", &options.priorities[0], &options.priorities[1]) != 2)
				usage("--priorities A,B");
			options.prioritized = true;
			break;
		case 'K': options.change_key_at = number(0, most); break;
		case 'E': options.readdress_at = number(0, most); break;
		case 'L': options.lifetime = (uint32_t)number(1, 3600000); options.timed = true; break;
		case 'X': options.retransmissions = (uint32_t)number(0, 1000); options.limited = true; break;
		case 'l': options.partial = true; break;
		case 'v': options.uneven = true; break;
		case 'q': options.by_stream = true; break;
		case 'C': options.scheduler = optarg; break;
		default: usage("unknown option or missing value");
		}
	}
	if (optind != argc)
		usage("too many words");
	if ((!options.server && options.udp != 0 && options.peer_udp == 0) ||
	    (options.server ? options.port == 0 : options.peer_port == 0))
		usage("a port is missing");
	if (options.initial_streams == 0)
		options.initial_streams = options.streams;
	if (options.initial_streams > options.streams)
		usage("more streams at the beginning than there are");
	if (options.by_stream && options.send_messages % options.streams != 0)
		usage("--by-stream takes as many messages on each stream");
	if (options.peer == NULL)
		options.peer = options.address;
	static const char *const lacks[][2] = { PEER_LACKS };
	for (size_t i = 0; i < sizeof(lacks) / sizeof(lacks[0]); i++) {
		if (with(lacks[i][0])) {
			printf("UNSUPPORTED %s has %s\n", PEER_STACK, lacks[i][1]);
			fflush(stdout);
			exit(127);
		}
	}
}

#endif
