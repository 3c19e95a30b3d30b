/* What RFC 6458 has and Linux does not: messages that are written in several calls (8.1.26), information that
 * tells of the next message as well (5.3.3, 8.1.22). */
#include "test.h"

#ifdef TEST_LKSCTP
#define SCTP_EXPLICIT_EOR 1027
#define SCTP_USE_EXT_RCVINFO 1031
#define SCTP_EOR 0x2000
#define SCTP_EXTRCV 1003
#define SCTP_NEXT_MSG_AVAIL 1
#define SCTP_NEXT_MSG_ISCOMPLETE 2
#define SCTP_NEXT_MSG_IS_UNORDERED 4
#define SCTP_NEXT_MSG_IS_NOTIFICATION 8
#define SCTP_COMPLETE 0x20
struct sctp_extrcvinfo {
	uint16_t sinfo_stream, sinfo_ssn, sinfo_flags;
	uint32_t sinfo_ppid, sinfo_context, sinfo_pr_value, sinfo_tsn, sinfo_cumtsn;
	uint16_t serinfo_next_flags, serinfo_next_stream;
	uint32_t serinfo_next_aid, serinfo_next_length, serinfo_next_ppid;
	sctp_assoc_t sinfo_assoc_id;
};
#endif

static char got[1 << 24];

/* Sends bytes on a stream, with flags of SCTP_SNDINFO. */
static ssize_t put(int fd, const void *data, size_t len, const struct sctp_sndinfo *info, int flags)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof *info)];
	} control;
	struct iovec iov = { (void *)data, len };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof control };
	memset(&control, 0, sizeof control);
	control.header.cmsg_level = IPPROTO_SCTP;
	control.header.cmsg_type = SCTP_SNDINFO;
	control.header.cmsg_len = CMSG_LEN(sizeof *info);
	memcpy(CMSG_DATA(&control.header), info, sizeof *info);
	return sendmsg(fd, &msg, flags | MSG_NOSIGNAL);
}

/* Reads a whole message; its length. */
static size_t get(int fd, int *flags)
{
	struct iovec iov = { got, sizeof got };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	size_t len = 0;
	do {
		ssize_t n = recvmsg(fd, &msg, 0);
		CHECK(n > 0);
		len += n;
		iov.iov_base = got + len;
		iov.iov_len = sizeof got - len;
	} while (!(msg.msg_flags & MSG_EOR));
	if (flags)
		*flags = msg.msg_flags;
	return len;
}

static void arrives(int fd, const char *text)
{
	size_t len = get(fd, NULL);
	CHECK(len == strlen(text) && memcmp(got, text, len) == 0);
}

//= RFC 6458 8.1.26-1
static void pieces(int server)
{
	struct sctp_sndinfo plain = { .snd_sid = 2 }, other = { .snd_sid = 3 };
	struct sctp_sndinfo last = { .snd_sid = 2, .snd_flags = SCTP_EOR };
	int value = 7, accepted, fd = pair(server, 5077, &accepted);
	socklen_t size = sizeof value;
	CHECK(getsockopt(fd, IPPROTO_SCTP, SCTP_EXPLICIT_EOR, &value, &size) == 0 && value == 0);
	/* Without it each call is a message, and says so or not. */
	CHECK(put(fd, "one", 3, &plain, 0) == 3);
	CHECK(put(fd, "two", 3, &last, 0) == 3);
	arrives(accepted, "one");
	arrives(accepted, "two");

	CHECK(on(fd, SCTP_EXPLICIT_EOR, 1) == 0);
	CHECK(getsockopt(fd, IPPROTO_SCTP, SCTP_EXPLICIT_EOR, &value, &size) == 0 && value == 1);
	CHECK(put(fd, "abc", 3, &plain, 0) == 3);
	CHECK(put(fd, "def", 3, &plain, 0) == 3);
	/* Nothing else comes between, and the stream stays the same. */
	FAILS(put(fd, "x", 1, &other, 0), EINVAL);
	FAILS(recv(accepted, got, 1, MSG_DONTWAIT), EAGAIN);
	CHECK(put(fd, "ghi", 3, &last, 0) == 3);
	arrives(accepted, "abcdefghi");
	/* MSG_EOR says it as well, and an end need have no bytes. */
	CHECK(put(fd, "jkl", 3, &other, 0) == 3);
	CHECK(put(fd, "mno", 3, &other, MSG_EOR) == 3);
	arrives(accepted, "jklmno");
	CHECK(put(fd, "pqr", 3, &plain, 0) == 3);
	CHECK(put(fd, "", 0, &last, 0) == 0);
	arrives(accepted, "pqr");
	FAILS(put(fd, "", 0, &last, 0), EINVAL);
	/* Without the option each call ends a message again, also one that was begun before. */
	CHECK(put(fd, "stu", 3, &plain, 0) == 3);
	CHECK(on(fd, SCTP_EXPLICIT_EOR, 0) == 0);
	CHECK(put(fd, "vwx", 3, &plain, 0) == 3);
	arrives(accepted, "stuvwx");
	CHECK(close(fd) == 0 && close(accepted) == 0);
}

/* It may be larger than the send buffer, and not larger than any other. */
static void large(int server)
{
	static char piece[100 * 1000];
	struct sctp_sndinfo plain = { 0 }, last = { .snd_flags = SCTP_EOR };
	int accepted, fd = pair(server, 5077, &accepted), small = 8192;
	CHECK(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof small) == 0);
	CHECK(on(fd, SCTP_EXPLICIT_EOR, 1) == 0);
	for (int n = 0; n < 50; n++) {
		memset(piece, 'a' + n % 26, sizeof piece);
		CHECK(put(fd, piece, sizeof piece, n < 49 ? &plain : &last, 0) == sizeof piece);
	}
	CHECK(get(accepted, NULL) == 50 * sizeof piece);
	for (size_t at = 0; at < 50 * sizeof piece; at += 999)
		CHECK(got[at] == 'a' + (char)(at / sizeof piece % 26));
	for (int n = 0; n < 167; n++)
		CHECK(put(fd, piece, sizeof piece, &plain, 0) == sizeof piece);
	FAILS(put(fd, piece, sizeof piece, &plain, 0), EMSGSIZE);
	CHECK(put(fd, piece, 1000, &last, 0) == 1000);
	CHECK(get(accepted, NULL) == 167 * sizeof piece + 1000);
	CHECK(close(fd) == 0 && close(accepted) == 0);
}

/* What has no end when the association ends comes back. */
static void returned(int server)
{
	struct sctp_sndinfo plain = { .snd_context = 77 };
	struct linger hard = { .l_onoff = 1 };
	int accepted, fd = pair(server, 5077, &accepted), flags;
	CHECK(on(fd, SCTP_EXPLICIT_EOR, 1) == 0);
	CHECK(event(fd, SCTP_SEND_FAILED_EVENT, 1) == 0);
	CHECK(put(fd, "half ", 5, &plain, 0) == 5);
	CHECK(put(fd, "of it", 5, &plain, 0) == 5);
	CHECK(setsockopt(accepted, SOL_SOCKET, SO_LINGER, &hard, sizeof hard) == 0);
	CHECK(close(accepted) == 0);
	size_t len = get(fd, &flags);
	struct sctp_send_failed_event *failed = (void *)got;
	CHECK(flags & MSG_NOTIFICATION);
	CHECK(len == sizeof *failed + 10 && failed->ssf_type == SCTP_SEND_FAILED_EVENT);
	CHECK(failed->ssf_flags == SCTP_DATA_UNSENT && failed->ssfe_info.snd_context == 77);
	CHECK(memcmp(got + sizeof *failed, "half of it", 10) == 0);
	CHECK(close(fd) == 0);
}

/* Each association of a one-to-many socket has a message of its own. */
static void several(void)
{
	int server = listener(SOCK_SEQPACKET, 5078), client = socket(family, SOCK_SEQPACKET, 132);
	int second = listener(SOCK_SEQPACKET, 5079);
	struct sockaddr_storage to;
	CHECK(on(client, SCTP_EXPLICIT_EOR, 1) == 0);
	for (int n = 0; n < 6; n++) {
		socklen_t len = name(&to, loopback, 5078 + n % 2);
		CHECK(sctp_sendmsg(client, n < 2 ? "a" : n < 4 ? "b" : "c", 1, (void *)&to, len, 0,
				   n < 4 ? 0 : SCTP_EOR, 0, 0, 0) == 1);
	}
	arrives(server, "abc");
	arrives(second, "abc");
	CHECK(close(client) == 0 && close(server) == 0 && close(second) == 0);
}

/* Reads a message that has ancillary data of this type, and nothing else. */
static void with_info(int fd, int type, void *info, size_t len)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(struct sctp_extrcvinfo)) + 100];
	} control;
	struct iovec iov = { got, sizeof got };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof control };
	CHECK(recvmsg(fd, &msg, 0) > 0);
	CHECK(msg.msg_controllen >= CMSG_LEN(len));
	CHECK(control.header.cmsg_level == IPPROTO_SCTP && control.header.cmsg_type == type);
	CHECK(control.header.cmsg_len == CMSG_LEN(len));
	CHECK(CMSG_NXTHDR(&msg, &control.header) == NULL);
	memcpy(info, CMSG_DATA(&control.header), len);
}

static struct sctp_extrcvinfo extended(int fd)
{
	struct sctp_extrcvinfo info;
	with_info(fd, SCTP_EXTRCV, &info, sizeof info);
	return info;
}

static void next_message(int server)
{
	struct sctp_sndinfo first = { .snd_sid = 1, .snd_ppid = 11 };
	struct sctp_sndinfo second = { .snd_sid = 2, .snd_flags = SCTP_UNORDERED, .snd_ppid = 12 };
	int value = 7, accepted, fd = pair(server, 5077, &accepted);
	socklen_t size = sizeof value;
	CHECK(getsockopt(accepted, IPPROTO_SCTP, SCTP_USE_EXT_RCVINFO, &value, &size) == 0 && !value);
	CHECK(on(accepted, SCTP_USE_EXT_RCVINFO, 1) == 0);
	CHECK(event(accepted, SCTP_DATA_IO_EVENT, 1) == 0);
	CHECK(put(fd, "first", 5, &first, 0) == 5);
	CHECK(put(fd, "the second", 10, &second, 0) == 10);
	usleep(200000);
	struct sctp_extrcvinfo info = extended(accepted);
	CHECK(info.sinfo_stream == 1 && info.sinfo_ppid == 11 && info.sinfo_flags == 0);
	CHECK(info.serinfo_next_flags == (SCTP_NEXT_MSG_AVAIL | SCTP_NEXT_MSG_ISCOMPLETE |
					  SCTP_NEXT_MSG_IS_UNORDERED));
	CHECK(info.serinfo_next_stream == 2 && info.serinfo_next_ppid == 12);
	CHECK(info.serinfo_next_length == 10 && info.serinfo_next_aid == info.sinfo_assoc_id);
	info = extended(accepted);
	CHECK(info.sinfo_stream == 2 && info.sinfo_flags == SCTP_UNORDERED);
	CHECK(info.serinfo_next_flags == 0 && info.serinfo_next_length == 0);
#ifndef TEST_LKSCTP
	/* Section 9.8: sctp_recvmsg() gives it as well. */
	int flags = 0;
	CHECK(put(fd, "third", 5, &first, 0) == 5);
	memset(&info, 0xff, sizeof info);
	CHECK(sctp_recvmsg(accepted, got, sizeof got, NULL, NULL, (struct sctp_sndrcvinfo *)&info,
			   &flags) == 5);
	CHECK(info.sinfo_stream == 1 && info.serinfo_next_flags == 0 && info.sinfo_assoc_id > 0);
#endif
	CHECK(close(fd) == 0 && close(accepted) == 0);
}

/* What SCTP_NXTINFO says of the message behind the one that is read. */
static struct sctp_nxtinfo behind(int fd)
{
	struct sctp_nxtinfo info;
	with_info(fd, SCTP_NXTINFO, &info, sizeof info);
	return info;
}

/* Messages, and notifications, which are no messages of the peer. */
static void next_info(int server)
{
	struct sctp_sndinfo second = { .snd_sid = 2, .snd_flags = SCTP_UNORDERED, .snd_ppid = 12 };
	int accepted, fd = pair(server, 5077, &accepted);
	CHECK(on(accepted, SCTP_RECVNXTINFO, 1) == 0);
	CHECK(event(accepted, SCTP_SHUTDOWN_EVENT, 1) == 0);
	CHECK(put(fd, "first", 5, &second, 0) == 5);
	CHECK(put(fd, "the second", 10, &second, 0) == 10);
	CHECK(close(fd) == 0);
	usleep(200000);
	struct sctp_nxtinfo info = behind(accepted);
	CHECK(info.nxt_flags == (SCTP_UNORDERED | SCTP_COMPLETE) && info.nxt_length == 10);
	CHECK(info.nxt_sid == 2 && info.nxt_ppid == 12);
	info = behind(accepted);
	CHECK((uint16_t)info.nxt_flags == (SCTP_NOTIFICATION | SCTP_COMPLETE));
	CHECK(info.nxt_length == sizeof(struct sctp_shutdown_event));
	CHECK(close(accepted) == 0);
}

int main(int argc, char **argv)
{
	start(argc, argv);
	int server = listener(SOCK_STREAM, 5077);
	pieces(server);
	large(server);
	returned(server);
	next_message(server);
	next_info(server);
	several();
	return 0;
}
