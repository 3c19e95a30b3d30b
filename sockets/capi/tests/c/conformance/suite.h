/* A conformance suite of the sockets API for SCTP: cases that say what a program may rely on. The same
 * program runs on the SCTP of a kernel, whose verdict counts, under `tresse run`, and with libtresse.
 *
 * Each case is a function that runs in a process of its own, with a time limit, and makes both ends
 * itself, over the loopback interface. It ends with the first expectation that does not hold. */
#ifndef SUITE_H
#define SUITE_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#ifdef SUITE_LKSCTP
#include <netinet/sctp.h>
#else
#include <tresse/sctp.h>
#endif

/* A case, or a table of them: FILE/FUNCTION, or FILE/FUNCTION/LABEL for each row. */
struct suite_case {
	const char *file, *name;
	void (*run)(const void *row);
	const void *rows;
	size_t size, count;
	struct suite_case *next;
};

void suite_add(struct suite_case *added);

#define SUITE_ADD(function, rows, size, count)                                                  \
	__attribute__((constructor)) static void function##_add(void)                           \
	{                                                                                       \
		static struct suite_case added = { __FILE__, #function, function##_run,         \
						   rows,     size,      count, NULL };          \
		suite_add(&added);                                                              \
	}

/* CASE(name) { ... } */
#define CASE(function)                                                                          \
	static void function(void);                                                             \
	static void function##_run(const void *row)                                             \
	{                                                                                       \
		(void)row;                                                                      \
		function();                                                                     \
	}                                                                                       \
	SUITE_ADD(function, NULL, 0, 1)                                                         \
	static void function(void)

/* EACH(name, table) { ... }: a case for each row, which is what `row` points to. The first member of a
 * row is its label. */
#define EACH(function, table)                                                                   \
	static void function(const __typeof__(*(table)) *row);                                  \
	static void function##_run(const void *row)                                             \
	{                                                                                       \
		function(row);                                                                  \
	}                                                                                       \
	SUITE_ADD(function, table, sizeof(table)[0], sizeof(table) / sizeof(table)[0])          \
	static void function(const __typeof__(*(table)) *row)

/* Ends the case: what went wrong, and where. */
__attribute__((noreturn, format(printf, 3, 4))) void suite_fail(const char *file, int line,
								const char *format, ...);

/* A condition holds. */
#define CHECK(condition)                                                                        \
	do {                                                                                    \
		errno = 0;                                                                      \
		if (!(condition))                                                               \
			suite_fail(__FILE__, __LINE__, "%s (%s)", #condition,                   \
				   strerrorname_np(errno));                                     \
	} while (0)

/* Both are the same number. */
#define SAME(got, wanted)                                                                       \
	do {                                                                                    \
		errno = 0;                                                                      \
		long long got_ = (long long)(got), wanted_ = (long long)(wanted);               \
		if (got_ != wanted_)                                                            \
			suite_fail(__FILE__, __LINE__, "%s: %lld instead of %lld (%s)", #got,   \
				   got_, wanted_, strerrorname_np(errno));                      \
	} while (0)

/* The call returns 0. */
#define WORKS(call) SAME(call, 0)

/* The call fails with this error number, or works if that is 0. */
#define FAILS(call, number)                                                                     \
	do {                                                                                    \
		errno = 0;                                                                      \
		long long got_ = (long long)(call);                                             \
		int wanted_ = (number);                                                         \
		if ((wanted_ != 0 && got_ != -1) || (wanted_ == 0 && got_ == -1) ||             \
		    (got_ == -1 && errno != wanted_))                                           \
			suite_fail(__FILE__, __LINE__, "%s: %lld, %s instead of %s", #call,     \
				   got_, strerrorname_np(got_ == -1 ? errno : 0),               \
				   strerrorname_np(wanted_));                                   \
	} while (0)

/* What sockets are like. */
enum kind { ONE, MANY, PEELED };
static const char *const kind_names[] __attribute__((unused)) = { "one", "many", "peeled" };
static const int kind_types[] __attribute__((unused)) = { SOCK_STREAM, SOCK_SEQPACKET, SOCK_STREAM };

/* A table for what holds for both kinds, or also for a socket that was peeled off, or both families. */
struct kind_row {
	const char *label;
	enum kind kind;
};
static const struct kind_row both_kinds[] __attribute__((unused)) = { { "one", ONE },
								      { "many", MANY } };
static const struct kind_row all_kinds[] __attribute__((unused)) = { { "one", ONE },
								     { "many", MANY },
								     { "peeled", PEELED } };
/* Which ends offer something. */
static const struct ends_row {
	const char *label;
	bool client, server;
} all_ends[] __attribute__((unused)) = {
	{ "neither", false, false },
	{ "client", true, false },
	{ "server", false, true },
	{ "both", true, true },
};
struct family_row {
	const char *label;
	int family;
};
static const struct family_row families[] __attribute__((unused)) = { { "v4", AF_INET },
								      { "v6", AF_INET6 } };

/* The family of the sockets that follow, AF_INET unless changed, and its loopback address. */
extern int family;
const char *loopback(void);

/* Fills in an address of either family, and gives its length. */
socklen_t address(void *at, const char *text, int port);
int port_of(const void *at);
/* The port that a socket is bound to. */
int port(int fd);

/* Sockets: new; bound to the loopback address and a free port; listening there. */
int new_socket(enum kind kind);
int bound(enum kind kind);
int listening(enum kind kind);
/* connect() to the loopback address. */
int dial(int fd, int port);

/* Two ends of an association. The ids are 0 for one-to-one sockets. */
struct pair {
	int listener; /* also of one-to-many sockets: the passive end */
	int client, server;
	sctp_assoc_t client_id, server_id;
};
/* PEELED: the client is a socket that was peeled off, the server a one-to-many socket. */
struct pair paired(enum kind kind);
/* Another one-to-many socket with an association to the server of a pair. */
struct pair joined(int server);
/* What an association of the client end is addressed with: nothing needs to be for one-to-one sockets. */
struct sockaddr *server_address(const struct pair *pair, socklen_t *len);

/* Options by value. */
int set_int(int fd, int level, int option, int value);
int get_int(int fd, int level, int option);
/* Those of an association, in `sctp_assoc_value`; -1 if one cannot be read. */
int set_value(int fd, int option, sctp_assoc_t id, uint32_t value);
int get_value(int fd, int option, sctp_assoc_t id);
int subscribe(int fd, int type, bool on);
/* Waits up to a second for an event of poll(), and gives all that there are. */
int wait_for(int fd, int events);
/* What poll() says at once. */
int now(int fd, int events);
/* Whether nothing comes within a twentieth of a second. */
bool quiet(int fd);
/* Milliseconds of a clock that only runs forward. */
long long clock_ms(void);
/* Makes calls wait no longer than this many milliseconds. */
void patience(int fd, int option, int ms);
void nonblocking(int fd);

/* Receives a message into a buffer of this file; its length, with flags and sender. */
struct message {
	char data[70000];
	ssize_t len;
	int flags;
	struct sockaddr_storage from;
	socklen_t from_len;
	bool has_rcv, has_nxt, has_sndrcv;
	struct sctp_rcvinfo rcv;
	struct sctp_nxtinfo nxt;
	struct sctp_sndrcvinfo sndrcv;
};
struct message *receive(int fd, int flags);
/* Receives data, which must be this text. */
#define ARRIVES(fd, text)                                                                       \
	do {                                                                                    \
		struct message *got_ = receive(fd, 0);                                          \
		if (got_->len != (ssize_t)strlen(text) || memcmp(got_->data, text, got_->len))  \
			suite_fail(__FILE__, __LINE__, "%s did not arrive: %zd bytes, flags %#x (%s)", \
				   text, got_->len, got_->flags, strerrorname_np(errno));       \
	} while (0)
/* Receives the next message, which must be a notification of this type. */
union sctp_notification *told_at(const char *file, int line, int fd, int type);
#define TOLD(fd, type) told_at(__FILE__, __LINE__, fd, type)
/* The same, a change of an association to this state. */
struct sctp_assoc_change *change_at(const char *file, int line, int fd, int state);
#define CHANGED(fd, state) change_at(__FILE__, __LINE__, fd, state)

/* send() of a text, which works. */
#define SENDS(fd, text) SAME(send(fd, text, strlen(text), MSG_NOSIGNAL), (long)strlen(text))
/* Sends a text from an end of a pair, of whatever kind. */
ssize_t say(const struct pair *pair, bool from_client, const char *text);
/* sendmsg() with ancillary data of one type. */
ssize_t send_with(int fd, const char *text, int type, const void *data, size_t size);
/* Ends the association of a one-to-many or one-to-one socket: SCTP_EOF or SCTP_ABORT. */
int end_with(int fd, sctp_assoc_t id, int flag);

#endif
