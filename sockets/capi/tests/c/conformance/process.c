/* Descriptors in several processes and threads, signals, and memory that is not there. */
#include "suite.h"
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>

static void wait_for_child(pid_t child)
{
	int status = -1;
	CHECK(waitpid(child, &status, 0) == child);
	SAME(status, 0);
}

CASE(dup_is_the_same_socket)
{
	struct pair pair = paired(ONE);
	int twin = dup(pair.client);
	close(pair.client);
	SENDS(twin, "alive");
	ARRIVES(pair.server, "alive");
}

CASE(dup_shares_nonblocking)
{
	struct pair pair = paired(ONE);
	int twin = dup(pair.client);
	nonblocking(pair.client);
	FAILS(receive(twin, 0)->len, EAGAIN);
}

CASE(last_close_counts)
{
	struct pair pair = paired(ONE);
	int twin = dup(pair.client);
	close(pair.client);
	CHECK(quiet(pair.server));
	close(twin);
	SAME(receive(pair.server, 0)->len, 0);
}

CASE(dup2_over_a_socket_closes_it)
{
	struct pair first = paired(ONE), second = paired(ONE);
	CHECK(dup2(second.client, first.client) == first.client);
	SAME(receive(first.server, 0)->len, 0);
	SENDS(first.client, "second");
	ARRIVES(second.server, "second");
}

CASE(child_goes_on_with_the_socket)
{
	struct pair pair = paired(ONE);
	pid_t child = fork();
	if (child == 0) {
		SENDS(pair.client, "child");
		_exit(0);
	}
	wait_for_child(child);
	ARRIVES(pair.server, "child");
	SENDS(pair.client, "parent");
	ARRIVES(pair.server, "parent");
}

CASE(child_keeps_it_open)
{
	struct pair pair = paired(ONE);
	int gate[2];
	WORKS(pipe(gate));
	pid_t child = fork();
	if (child == 0) {
		char byte;
		close(gate[1]);
		SAME(read(gate[0], &byte, 1), 0);
		SENDS(pair.client, "child");
		_exit(0);
	}
	close(gate[0]);
	close(pair.client);
	CHECK(quiet(pair.server));
	close(gate[1]);
	ARRIVES(pair.server, "child");
	wait_for_child(child);
	SAME(receive(pair.server, 0)->len, 0);
}

CASE(child_accepts)
{
	int listener = listening(ONE);
	pid_t child = fork();
	if (child == 0) {
		int server = accept(listener, NULL, NULL);
		CHECK(server >= 0);
		ARRIVES(server, "ping");
		SENDS(server, "pong");
		_exit(0);
	}
	int client = new_socket(ONE);
	WORKS(dial(client, port(listener)));
	SENDS(client, "ping");
	ARRIVES(client, "pong");
	wait_for_child(child);
}

CASE(each_message_goes_to_one_process)
{
	struct pair pair = paired(ONE);
	pid_t children[2];
	for (int n = 0; n < 2; n++) {
		children[n] = fork();
		if (children[n] == 0) {
			struct message *got = receive(pair.server, 0);
			SAME(got->len, 1);
			_exit(0);
		}
	}
	SENDS(pair.client, "a");
	SENDS(pair.client, "b");
	for (int n = 0; n < 2; n++)
		wait_for_child(children[n]);
	CHECK(quiet(pair.server));
}

CASE(descriptor_is_passed_on)
{
	struct pair pair = paired(ONE);
	int plain[2], passed;
	char byte = 'x', control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec iov = { &byte, 1 };
	struct msghdr header = { .msg_iov = &iov,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = sizeof control };
	struct cmsghdr *c = CMSG_FIRSTHDR(&header);
	WORKS(socketpair(AF_UNIX, SOCK_STREAM, 0, plain));
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &pair.client, sizeof(int));
	SAME(sendmsg(plain[0], &header, 0), 1);
	close(pair.client);
	SAME(recvmsg(plain[1], &header, 0), 1);
	memcpy(&passed, CMSG_DATA(CMSG_FIRSTHDR(&header)), sizeof(int));
	SENDS(passed, "passed");
	ARRIVES(pair.server, "passed");
}

static void nothing(int number)
{
	(void)number;
}

static void interrupt_soon(int flags)
{
	struct sigaction action = { .sa_handler = nothing, .sa_flags = flags };
	/* Again and again, lest the first one comes too early. */
	struct itimerval soon = { { 0, 50000 }, { 0, 50000 } };
	WORKS(sigaction(SIGALRM, &action, NULL));
	WORKS(setitimer(ITIMER_REAL, &soon, NULL));
}

static void interrupt_no_more(void)
{
	struct itimerval never = { { 0, 0 }, { 0, 0 } };
	WORKS(setitimer(ITIMER_REAL, &never, NULL));
}

CASE(receive_is_interrupted)
{
	struct pair pair = paired(ONE);
	interrupt_soon(0);
	FAILS(receive(pair.server, 0)->len, EINTR);
	interrupt_no_more();
	SENDS(pair.client, "intact");
	ARRIVES(pair.server, "intact");
}

CASE(accept_is_interrupted)
{
	int listener = listening(ONE);
	interrupt_soon(0);
	FAILS(accept(listener, NULL, NULL), EINTR);
}

CASE(send_is_interrupted)
{
	struct pair pair = paired(ONE);
	static char block[10000];
	int number = 0;
	interrupt_soon(0);
	for (int n = 0; n < 5000 && number == 0; n++)
		if (send(pair.client, block, sizeof block, 0) < 0)
			number = errno;
	SAME(number, EINTR);
}

static const struct blocked {
	const char *label;
	enum kind kind;
	int flags, patience, number;
} blocked[] = {
	{ "one", ONE, 0, 0, EINTR },
	{ "many", MANY, 0, 0, EINTR },
	{ "one_restarted", ONE, SA_RESTART, 0, 0 },
	{ "many_restarted", MANY, SA_RESTART, 0, 0 },
	{ "one_with_a_timeout", ONE, SA_RESTART, 5000, EINTR },
	{ "many_with_a_timeout", MANY, SA_RESTART, 5000, EINTR },
};

/* The peer does not read, or not for a while. */
EACH(blocked_send, blocked)
{
	enum { BLOCKS = 400 };
	struct pair pair = paired(row->kind);
	static char block[10000];
	socklen_t len;
	struct sockaddr *to = server_address(&pair, &len);
	int number = 0;
	pid_t reader = 0;
	if (row->patience)
		patience(pair.client, SO_SNDTIMEO, row->patience);
	if (row->number == 0 && (reader = fork()) == 0) {
		struct timespec rest = { .tv_nsec = 400000000 };
		nanosleep(&rest, NULL);
		for (long left = BLOCKS * (long)sizeof block; left > 0;) {
			ssize_t n = recv(pair.server, block, sizeof block, 0);
			CHECK(n > 0);
			left -= n;
		}
		_exit(0);
	}
	interrupt_soon(row->flags);
	for (int n = 0; n < BLOCKS && number == 0; n++)
		if (sendto(pair.client, block, sizeof block, 0, to, len) < 0)
			number = errno;
	interrupt_no_more();
	SAME(number, row->number);
	if (reader > 0)
		wait_for_child(reader);
}

CASE(receive_with_a_timeout_is_not_restarted)
{
	struct pair pair = paired(ONE);
	patience(pair.server, SO_RCVTIMEO, 1000);
	interrupt_soon(SA_RESTART);
	FAILS(receive(pair.server, 0)->len, EINTR);
}

static void *writer(void *pair)
{
	struct timespec rest = { .tv_nsec = 50000000 };
	nanosleep(&rest, NULL);
	SENDS(((struct pair *)pair)->client, "thread");
	return NULL;
}

CASE(one_thread_waits_another_sends)
{
	struct pair pair = paired(ONE);
	pthread_t thread;
	WORKS(pthread_create(&thread, NULL, writer, &pair));
	ARRIVES(pair.server, "thread");
	WORKS(pthread_join(thread, NULL));
}

static void *closer(void *pair)
{
	struct timespec rest = { .tv_nsec = 50000000 };
	nanosleep(&rest, NULL);
	WORKS(shutdown(((struct pair *)pair)->client, SHUT_WR));
	return NULL;
}

CASE(one_thread_waits_the_peer_ends)
{
	struct pair pair = paired(ONE);
	pthread_t thread;
	WORKS(pthread_create(&thread, NULL, closer, &pair));
	SAME(receive(pair.server, 0)->len, 0);
	WORKS(pthread_join(thread, NULL));
}

/* Memory that is not there, where each call looks at it. */
enum where {
	SEND_DATA,
	SEND_VECTOR,
	SEND_HEADER,
	SEND_CONTROL,
	SEND_NAME,
	RECEIVE_DATA,
	RECEIVE_HEADER,
	BIND_NAME,
	CONNECT_NAME,
	SET_VALUE,
	GET_VALUE,
	GET_LENGTH,
	NAME_LENGTH,
	NAME_ADDRESS,
	ACCEPT_LENGTH,
};

static const struct fault {
	const char *label;
	enum where where;
} faults[] = {
	{ "send_data", SEND_DATA },         { "send_vector", SEND_VECTOR },
	{ "send_header", SEND_HEADER },     { "send_control", SEND_CONTROL },
	{ "send_name", SEND_NAME },         { "receive_data", RECEIVE_DATA },
	{ "receive_header", RECEIVE_HEADER }, { "bind_name", BIND_NAME },
	{ "connect_name", CONNECT_NAME },   { "set_value", SET_VALUE },
	{ "get_value", GET_VALUE },         { "get_length", GET_LENGTH },
	{ "name_length", NAME_LENGTH },     { "name_address", NAME_ADDRESS },
	{ "accept_length", ACCEPT_LENGTH },
};

static long fault_at(enum where where, struct pair *pair, void *bad)
{
	struct iovec iov = { "x", 1 }, bad_iov = { bad, 10 };
	struct msghdr header = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct sockaddr_storage at;
	socklen_t len = sizeof at, name_len = sizeof(struct sockaddr_in);
	switch (where) {
	case SEND_DATA:
		return send(pair->client, bad, 10, MSG_NOSIGNAL);
	case SEND_VECTOR:
		return writev(pair->client, bad, 1);
	case SEND_HEADER:
		return sendmsg(pair->client, bad, MSG_NOSIGNAL);
	case SEND_CONTROL:
		header.msg_control = bad;
		header.msg_controllen = 64;
		return sendmsg(pair->client, &header, MSG_NOSIGNAL);
	case SEND_NAME:
		return sendto(pair->client, "x", 1, MSG_NOSIGNAL, bad, name_len);
	case RECEIVE_DATA:
		header.msg_iov = &bad_iov;
		return recvmsg(pair->client, &header, 0);
	case RECEIVE_HEADER:
		return recvmsg(pair->client, bad, 0);
	case BIND_NAME:
		return bind(new_socket(ONE), bad, name_len);
	case CONNECT_NAME:
		return connect(new_socket(ONE), bad, name_len);
	case SET_VALUE:
		return setsockopt(pair->client, IPPROTO_SCTP, SCTP_NODELAY, bad, 4);
	case GET_VALUE:
		return getsockopt(pair->client, IPPROTO_SCTP, SCTP_NODELAY, bad, &name_len);
	case GET_LENGTH:
		return getsockopt(pair->client, IPPROTO_SCTP, SCTP_NODELAY, &at, bad);
	case NAME_LENGTH:
		return getsockname(pair->client, (struct sockaddr *)&at, bad);
	case NAME_ADDRESS:
		return getsockname(pair->client, bad, &len);
	case ACCEPT_LENGTH:
		WORKS(dial(new_socket(ONE), port(pair->listener)));
		return accept(pair->listener, (struct sockaddr *)&at, bad);
	}
	return 0;
}

EACH(memory_that_is_not_there, faults)
{
	struct pair pair = paired(ONE);
	void *bad = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(bad != MAP_FAILED && munmap(bad, 4096) == 0);
	SENDS(pair.server, "x");
	CHECK(wait_for(pair.client, POLLIN) & POLLIN);
	FAILS(fault_at(row->where, &pair, bad), EFAULT);
	/* Nothing is lost by it, but that Linux gives up a message that it cannot hand over. */
	if (row->where != RECEIVE_DATA)
		ARRIVES(pair.client, "x");
	SENDS(pair.client, "y");
	ARRIVES(pair.server, "y");
}

CASE(null_data_of_no_length)
{
	struct pair pair = paired(ONE);
	FAILS(send(pair.client, NULL, 0, MSG_NOSIGNAL), EINVAL);
}

CASE(too_many_parts)
{
	struct pair pair = paired(ONE);
	static struct iovec parts[1025];
	struct msghdr header = { .msg_iov = parts, .msg_iovlen = 1025 };
	FAILS(sendmsg(pair.client, &header, MSG_NOSIGNAL), EMSGSIZE);
	FAILS(recvmsg(pair.client, &header, 0), EMSGSIZE);
	FAILS(writev(pair.client, parts, 1025), EINVAL);
}

CASE(many_parts_are_one_message)
{
	struct pair pair = paired(ONE);
	struct iovec parts[100];
	char text[101] = "";
	for (int n = 0; n < 100; n++) {
		text[n] = 'a' + n % 26;
		parts[n] = (struct iovec){ text + n, 1 };
	}
	SAME(writev(pair.client, parts, 100), 100);
	ARRIVES(pair.server, text);
}

CASE(bytes_to_read)
{
	struct pair pair = paired(ONE);
	int count = -1;
	WORKS(ioctl(pair.server, FIONREAD, &count));
	SAME(count, 0);
	SENDS(pair.client, "hello");
	CHECK(wait_for(pair.server, POLLIN) & POLLIN);
	WORKS(ioctl(pair.server, FIONREAD, &count));
	SAME(count, 5);
}

CASE(ioctl_nonblocking)
{
	struct pair pair = paired(ONE);
	int on = 1;
	WORKS(ioctl(pair.server, FIONBIO, &on));
	FAILS(receive(pair.server, 0)->len, EAGAIN);
}

CASE(seeking_is_refused)
{
	FAILS(lseek(new_socket(ONE), 0, SEEK_SET), ESPIPE);
}

CASE(it_is_no_regular_socket_option)
{
	int fd = new_socket(ONE);
	SAME(get_int(fd, SOL_SOCKET, SO_TYPE), SOCK_STREAM);
	SAME(get_int(fd, SOL_SOCKET, SO_PROTOCOL), IPPROTO_SCTP);
	SAME(get_int(fd, SOL_SOCKET, SO_DOMAIN), AF_INET);
	SAME(get_int(fd, SOL_SOCKET, SO_ERROR), 0);
	SAME(get_int(new_socket(MANY), SOL_SOCKET, SO_TYPE), SOCK_SEQPACKET);
}

static const struct timeout {
	const char *label;
	int option;
	long ms;
} timeouts[] = {
	{ "receive", SO_RCVTIMEO, 1500 },
	{ "send", SO_SNDTIMEO, 2500 },
	{ "none", SO_RCVTIMEO, 0 },
};

EACH(timeout_reads_back, timeouts)
{
	int fd = new_socket(ONE);
	struct timeval got = { -1, -1 };
	socklen_t len = sizeof got;
	patience(fd, row->option, row->ms);
	WORKS(getsockopt(fd, SOL_SOCKET, row->option, &got, &len));
	SAME(got.tv_sec * 1000 + got.tv_usec / 1000, row->ms);
}

CASE(timeout_out_of_range)
{
	struct timeval wrong = { 0, 2000000 };
	FAILS(setsockopt(new_socket(ONE), SOL_SOCKET, SO_RCVTIMEO, &wrong, sizeof wrong), EDOM);
}

//= RFC 6458 8.1.6-1 8.1.7-1
EACH(buffer_sizes_are_doubled, both_kinds)
{
	int fd = new_socket(row->kind);
	WORKS(set_int(fd, SOL_SOCKET, SO_SNDBUF, 50000));
	WORKS(set_int(fd, SOL_SOCKET, SO_RCVBUF, 60000));
	SAME(get_int(fd, SOL_SOCKET, SO_SNDBUF), 100000);
	SAME(get_int(fd, SOL_SOCKET, SO_RCVBUF), 120000);
}
