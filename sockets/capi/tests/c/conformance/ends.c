/* What the cases share: sockets, pairs of them, messages. */
#include "suite.h"

const char *loopback(void)
{
	return family == AF_INET ? "127.0.0.1" : "::1";
}

socklen_t address(void *at, const char *text, int port)
{
	if (strchr(text, ':')) {
		struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
		CHECK(inet_pton(AF_INET6, text, &six.sin6_addr) == 1);
		memcpy(at, &six, sizeof six);
		return sizeof six;
	}
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons(port) };
	CHECK(inet_pton(AF_INET, text, &four.sin_addr) == 1);
	memcpy(at, &four, sizeof four);
	return sizeof four;
}

int port_of(const void *at)
{
	struct sockaddr_in four;
	/* The port has the same place in both families. */
	memcpy(&four, at, sizeof four);
	return ntohs(four.sin_port);
}

int port(int fd)
{
	struct sockaddr_storage at;
	socklen_t len = sizeof at;
	WORKS(getsockname(fd, (struct sockaddr *)&at, &len));
	return port_of(&at);
}

int new_socket(enum kind kind)
{
	int fd = socket(family, kind_types[kind], IPPROTO_SCTP);
	CHECK(fd >= 0);
	return fd;
}

int bound(enum kind kind)
{
	struct sockaddr_storage at;
	socklen_t len = address(&at, loopback(), 0);
	int fd = new_socket(kind);
	WORKS(bind(fd, (struct sockaddr *)&at, len));
	return fd;
}

int listening(enum kind kind)
{
	int fd = bound(kind);
	WORKS(listen(fd, 5));
	return fd;
}

int dial(int fd, int port)
{
	struct sockaddr_storage to;
	socklen_t len = address(&to, loopback(), port);
	return connect(fd, (struct sockaddr *)&to, len);
}

struct pair joined(int server)
{
	struct pair pair = { .listener = server, .server = server, .client = bound(MANY) };

	WORKS(subscribe(pair.server, SCTP_ASSOC_CHANGE, true));
	WORKS(subscribe(pair.client, SCTP_ASSOC_CHANGE, true));
	WORKS(dial(pair.client, port(server)));
	pair.client_id = CHANGED(pair.client, SCTP_COMM_UP)->sac_assoc_id;
	pair.server_id = CHANGED(pair.server, SCTP_COMM_UP)->sac_assoc_id;
	WORKS(subscribe(pair.client, SCTP_ASSOC_CHANGE, false));
	WORKS(subscribe(pair.server, SCTP_ASSOC_CHANGE, false));
	return pair;
}

struct pair paired(enum kind kind)
{
	if (kind != ONE) {
		struct pair pair = joined(listening(MANY));
		if (kind == PEELED) {
			int peeled = sctp_peeloff(pair.client, pair.client_id);
			CHECK(peeled >= 0);
			close(pair.client);
			pair.client = peeled;
			pair.client_id = 0;
		}
		return pair;
	}
	struct pair pair = { .listener = listening(ONE), .client = bound(ONE) };
	WORKS(dial(pair.client, port(pair.listener)));
	pair.server = accept(pair.listener, NULL, NULL);
	CHECK(pair.server >= 0);
	return pair;
}

struct sockaddr *server_address(const struct pair *pair, socklen_t *len)
{
	static struct sockaddr_storage at;
	*len = address(&at, loopback(), port(pair->listener));
	return (struct sockaddr *)&at;
}

int set_int(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof value);
}

int get_int(int fd, int level, int option)
{
	int value = -1;
	socklen_t len = sizeof value;
	WORKS(getsockopt(fd, level, option, &value, &len));
	return value;
}

int set_value(int fd, int option, sctp_assoc_t id, uint32_t value)
{
	struct sctp_assoc_value set = { .assoc_id = id, .assoc_value = value };
	return setsockopt(fd, IPPROTO_SCTP, option, &set, sizeof set);
}

int get_value(int fd, int option, sctp_assoc_t id)
{
	struct sctp_assoc_value value = { .assoc_id = id };
	socklen_t len = sizeof value;
	if (getsockopt(fd, IPPROTO_SCTP, option, &value, &len) != 0)
		return -1;
	SAME(len, sizeof value);
	return value.assoc_value;
}

int subscribe(int fd, int type, bool on)
{
	struct sctp_event event = { .se_assoc_id = SCTP_ALL_ASSOC, .se_type = type, .se_on = on };
	int style = get_int(fd, SOL_SOCKET, SO_TYPE);

	if (style == SOCK_STREAM)
		event.se_assoc_id = 0;
	return setsockopt(fd, IPPROTO_SCTP, SCTP_EVENT, &event, sizeof event);
}

int wait_for(int fd, int events)
{
	struct pollfd set = { .fd = fd, .events = events };
	CHECK(poll(&set, 1, 1000) >= 0);
	return set.revents;
}

int now(int fd, int events)
{
	struct pollfd set = { .fd = fd, .events = events };
	CHECK(poll(&set, 1, 0) >= 0);
	return set.revents;
}

bool quiet(int fd)
{
	struct pollfd set = { .fd = fd, .events = POLLIN };
	return poll(&set, 1, 50) == 0;
}

long long clock_ms(void)
{
	struct timespec at;
	clock_gettime(CLOCK_MONOTONIC, &at);
	return at.tv_sec * 1000LL + at.tv_nsec / 1000000;
}

void patience(int fd, int option, int ms)
{
	struct timeval most = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };
	WORKS(setsockopt(fd, SOL_SOCKET, option, &most, sizeof most));
}

void nonblocking(int fd)
{
	CHECK(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) == 0);
}

struct message *receive(int fd, int flags)
{
	static struct message got;
	char control[512] __attribute__((aligned(8)));
	struct iovec iov = { got.data, sizeof got.data };
	struct msghdr header = { .msg_name = &got.from,
				 .msg_namelen = sizeof got.from,
				 .msg_iov = &iov,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = sizeof control };

	memset(&got, 0, sizeof got);
	errno = 0;
	got.len = recvmsg(fd, &header, flags);
	if (got.len < 0)
		return &got;
	got.flags = header.msg_flags;
	got.from_len = header.msg_namelen;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&header); c; c = CMSG_NXTHDR(&header, c)) {
		if (c->cmsg_level != IPPROTO_SCTP)
			continue;
		if (c->cmsg_type == SCTP_RCVINFO) {
			got.has_rcv = true;
			memcpy(&got.rcv, CMSG_DATA(c), sizeof got.rcv);
		} else if (c->cmsg_type == SCTP_NXTINFO) {
			got.has_nxt = true;
			memcpy(&got.nxt, CMSG_DATA(c), sizeof got.nxt);
		} else if (c->cmsg_type == SCTP_SNDRCV) {
			got.has_sndrcv = true;
			memcpy(&got.sndrcv, CMSG_DATA(c), sizeof got.sndrcv);
		}
	}
	return &got;
}

union sctp_notification *told_at(const char *file, int line, int fd, int type)
{
	if (!(wait_for(fd, POLLIN) & POLLIN))
		suite_fail(file, line, "no notification %#x, but nothing", type);
	struct message *got = receive(fd, MSG_DONTWAIT);
	union sctp_notification *event = (void *)got->data;
	if (got->len < (ssize_t)sizeof event->sn_header || !(got->flags & MSG_NOTIFICATION))
		suite_fail(file, line, "no notification %#x, but %zd bytes, flags %#x (%s)", type,
			   got->len, got->flags, strerrorname_np(errno));
	if (event->sn_header.sn_type != type)
		suite_fail(file, line, "notification %#x instead of %#x", event->sn_header.sn_type,
			   type);
	if (event->sn_header.sn_length != got->len)
		suite_fail(file, line, "notification of %zd bytes says %u", got->len,
			   event->sn_header.sn_length);
	return event;
}

struct sctp_assoc_change *change_at(const char *file, int line, int fd, int state)
{
	struct sctp_assoc_change *change =
		&told_at(file, line, fd, SCTP_ASSOC_CHANGE)->sn_assoc_change;
	if (change->sac_state != state)
		suite_fail(file, line, "association change %d instead of %d", change->sac_state,
			   state);
	return change;
}

ssize_t send_with(int fd, const char *text, int type, const void *data, size_t size)
{
	char control[CMSG_SPACE(256)] __attribute__((aligned(8)));
	struct iovec iov = { (void *)(uintptr_t)text, strlen(text) };
	struct msghdr header = { .msg_iov = &iov,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = CMSG_SPACE(size) };

	memset(control, 0, sizeof control);
	struct cmsghdr *c = CMSG_FIRSTHDR(&header);
	c->cmsg_level = IPPROTO_SCTP;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(size);
	memcpy(CMSG_DATA(c), data, size);
	return sendmsg(fd, &header, MSG_NOSIGNAL);
}

ssize_t say(const struct pair *pair, bool from_client, const char *text)
{
	int fd = from_client ? pair->client : pair->server;
	struct sctp_sndinfo info = { .snd_assoc_id = from_client ? pair->client_id : pair->server_id };
	return info.snd_assoc_id ? send_with(fd, text, SCTP_SNDINFO, &info, sizeof info) :
				   send(fd, text, strlen(text), MSG_NOSIGNAL);
}

int end_with(int fd, sctp_assoc_t id, int flag)
{
	struct sctp_sndinfo info = { .snd_assoc_id = id, .snd_flags = flag };
	return send_with(fd, "", SCTP_SNDINFO, &info, sizeof info) >= 0 ? 0 : -1;
}
