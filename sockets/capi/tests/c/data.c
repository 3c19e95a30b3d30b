/* What was said to be sent arrives, or the program hears of it: once, whole, and whoever reads. */
#include "test.h"
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { PORT = 5071 };

static int wait_for(int fd, int events)
{
	struct pollfd set = { .fd = fd, .events = events };
	return poll(&set, 1, 10000) == 1 && set.revents & events;
}

/* `accept` where nothing can be accepted takes no message. */
static void accepting(void)
{
	int server = listener(SOCK_STREAM, PORT), there;
	int here = pair(server, PORT, &there);
	char text[10];

	CHECK(send(here, "hello", 5, 0) == 5);
	CHECK(wait_for(there, POLLIN));
	FAILS(accept(there, NULL, NULL), EINVAL);
	FAILS(accept(here, NULL, NULL), EINVAL);
	CHECK(recv(there, text, sizeof text, 0) == 5 && memcmp(text, "hello", 5) == 0);
	close(here);
	close(there);
	close(server);
	server = listener(SOCK_SEQPACKET, PORT);
	FAILS(accept(server, NULL, NULL), EOPNOTSUPP);
	close(server);
}

//= RFC 6458 9.12-2
/* RFC 6458 §9.12: all addresses are those of the association that is opened. */
static void several_addresses(int type)
{
	struct sockaddr_in list[2];
	struct iovec iov = { "x", 1 };
	struct sctp_sndinfo info;
	struct sockaddr *peers;
	char byte;

	if (family != AF_INET)
		return;
	name(&list[0], "127.0.0.1", PORT);
	name(&list[1], "127.0.0.2", PORT);
	int server = socket(AF_INET, SOCK_SEQPACKET, IPPROTO_SCTP);
	CHECK(sctp_bindx(server, (struct sockaddr *)list, 2, SCTP_BINDX_ADD_ADDR) == 0);
	CHECK(listen(server, 5) == 0);
	int fd = socket(AF_INET, type, IPPROTO_SCTP);
	memset(&info, 0, sizeof info);
	CHECK(sctp_sendv(fd, &iov, 1, (struct sockaddr *)list, 2, &info, sizeof info,
			 SCTP_SENDV_SNDINFO, 0) == 1);
	struct sockaddr_storage from;
	socklen_t len = sizeof from;
	CHECK(recvfrom(server, &byte, 1, 0, (struct sockaddr *)&from, &len) == 1 && byte == 'x');
	CHECK(sendto(server, "y", 1, 0, (struct sockaddr *)&from, len) == 1);
	struct sctp_rcvinfo told;
	struct msghdr message = { .msg_iov = &(struct iovec){ &byte, 1 }, .msg_iovlen = 1 };
	char control[CMSG_SPACE(sizeof told)];
	message.msg_control = control;
	message.msg_controllen = sizeof control;
	CHECK(on(fd, SCTP_RECVRCVINFO, 1) == 0);
	CHECK(recvmsg(fd, &message, 0) == 1 && byte == 'y');
	memcpy(&told, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof told);
	CHECK(sctp_getpaddrs(fd, told.rcv_assoc_id, &peers) == 2);
	sctp_freepaddrs(peers);
#ifndef TEST_LKSCTP
	/* RFC 6458 §9.11: the association that is opened is told here as well. */
	struct sctp_sndrcvinfo old = { .sinfo_stream = 1 };
	int another = socket(AF_INET, type, IPPROTO_SCTP);
	CHECK(sctp_sendx(another, "z", 1, (struct sockaddr *)list, 2, &old, 0) == 1);
	CHECK(old.sinfo_assoc_id > SCTP_ALL_ASSOC && old.sinfo_stream == 1);
	CHECK(recv(server, &byte, 1, 0) == 1 && byte == 'z');
	CHECK(sctp_getpaddrs(another, old.sinfo_assoc_id, &peers) == 2);
	sctp_freepaddrs(peers);
	close(another);
#endif
	/* The same again goes to the association that is there. */
	CHECK(sctp_sendv(fd, &iov, 1, (struct sockaddr *)list, 2, NULL, 0, SCTP_SENDV_NOINFO, 0) == 1);
	CHECK(recv(server, &byte, 1, 0) == 1 && byte == 'x');
	close(fd);
	close(server);
}

/* Nothing is taken that cannot be sent any more. */
static void after_the_end(void)
{
	int server = listener(SOCK_STREAM, PORT), there;
	int here = pair(server, PORT, &there);
	char byte;

	CHECK(send(here, "x", 1, 0) == 1);
	CHECK(recv(there, &byte, 1, 0) == 1);
	CHECK(send(there, "x", 1, 0) == 1);
	CHECK(recv(here, &byte, 1, 0) == 1);
	CHECK(shutdown(here, SHUT_WR) == 0);
	FAILS(send(here, "x", 1, MSG_NOSIGNAL), EPIPE);
	CHECK(recv(there, &byte, 1, 0) == 0);
	FAILS(send(there, "x", 1, MSG_NOSIGNAL), EPIPE);
	close(here);
	close(there);
	close(server);
}

/* What was written before `shutdown` arrives, however slow the other end is. */
static void shutting_down(void)
{
	static char block[50000];
	int server = listener(SOCK_STREAM, PORT), there;
	int here = pair(server, PORT, &there);
	long sent = 0, taken = 0;
	ssize_t n;

	while (sent < 2000000 && (n = send(here, block, sizeof block, MSG_DONTWAIT)) > 0)
		sent += n;
	CHECK(sent > 200000);
	CHECK(shutdown(here, SHUT_WR) == 0);
	usleep(50000);
	while ((n = recv(there, block, sizeof block, 0)) > 0)
		taken += n;
	CHECK(n == 0 && taken == sent);
	close(here);
	close(there);
	close(server);
}

static void *writes(void *argument)
{
	int fd = *(int *)argument;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
	FAILS(write(fd, "x", 1), EPIPE);
	CHECK(sigpending(&set) == 0 && sigismember(&set, SIGPIPE));
	return NULL;
}

/* SIGPIPE is for the thread that writes. In this one it would end the program. */
static void signals(void)
{
	int server = listener(SOCK_STREAM, PORT), there;
	int here = pair(server, PORT, &there);
	pthread_t thread;

	CHECK(shutdown(here, SHUT_WR) == 0);
	CHECK(pthread_create(&thread, NULL, writes, &here) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
	close(here);
	close(there);
	close(server);
}

/* RFC 6458 §8.1.11: what does not fit into one packet is refused. */
static void without_fragments(int type)
{
	static char block[100000];
	struct sockaddr_storage to;
	socklen_t len = name(&to, loopback, PORT);
	int server = listener(type, PORT), fd = socket(family, type, IPPROTO_SCTP), there = server;
	struct sctp_status status;
	socklen_t size = sizeof status;
	char byte;

	memset(&status, 0, sizeof status);
	if (type == SOCK_STREAM) {
		CHECK(connect(fd, (struct sockaddr *)&to, len) == 0);
		there = accept(server, NULL, NULL);
	}
	/* The first message asks the engine, later ones need not. */
	CHECK(sendto(fd, "x", 1, 0, (struct sockaddr *)&to, len) == 1);
	CHECK(recv(there, &byte, 1, 0) == 1);
	CHECK(on(fd, SCTP_DISABLE_FRAGMENTS, 1) == 0);
	FAILS(sendto(fd, block, sizeof block, 0, (struct sockaddr *)&to, len), EMSGSIZE);
	CHECK(sendto(fd, "y", 1, 0, (struct sockaddr *)&to, len) == 1);
	CHECK(recv(there, &byte, 1, 0) == 1 && byte == 'y');
	if (type == SOCK_STREAM) {
		CHECK(getsockopt(fd, IPPROTO_SCTP, SCTP_STATUS, &status, &size) == 0);
		ssize_t most = status.sstat_fragmentation_point;
		FAILS(send(fd, block, most + 1, 0), EMSGSIZE);
		CHECK(send(fd, block, most, 0) == most);
		CHECK(recv(there, block, sizeof block, 0) == most);
	}
	CHECK(on(fd, SCTP_DISABLE_FRAGMENTS, 0) == 0);
	CHECK(sendto(fd, block, sizeof block, 0, (struct sockaddr *)&to, len) == sizeof block);
	close(fd);
	if (there != server)
		close(there);
	close(server);
}

/* Processes that read the same socket get each message once. */
static void prefork(void)
{
	enum { MESSAGES = 2000, READERS = 3 };
	int server = listener(SOCK_STREAM, PORT), there, n;
	int here = pair(server, PORT, &there);
	int *seen = mmap(NULL, (MESSAGES + 1) * sizeof(int), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(seen != MAP_FAILED);
	for (n = 0; n < READERS; n++) {
		pid_t child = fork();
		CHECK(child >= 0);
		if (child > 0)
			continue;
		alarm(60);
		for (;;) {
			int number[8];
			ssize_t len = recv(there, number, sizeof number, 0);
			if (len == 0)
				_exit(0);
			CHECK(len == sizeof number && number[0] < MESSAGES);
			__atomic_add_fetch(&seen[number[0]], 1, __ATOMIC_RELAXED);
		}
	}
	for (n = 0; n < MESSAGES; n++) {
		int number[8] = { n };
		CHECK(send(here, number, sizeof number, 0) == sizeof number);
	}
	CHECK(shutdown(here, SHUT_WR) == 0);
	for (n = 0; n < READERS; n++) {
		int status;
		CHECK(wait(&status) > 0 && status == 0);
	}
	for (n = 0; n < MESSAGES; n++)
		CHECK(seen[n] == 1);
	CHECK(munmap(seen, (MESSAGES + 1) * sizeof(int)) == 0);
	close(here);
	close(there);
	close(server);
}

/* The rest of a message is the same for all processes; a child's descriptors are its own. */
static void rests(void)
{
	int server = listener(SOCK_STREAM, PORT), there, status;
	int here = pair(server, PORT, &there);
	char text[20];

	CHECK(send(here, "one two three", 13, 0) == 13);
	CHECK(recv(there, text, 4, 0) == 4 && memcmp(text, "one ", 4) == 0);
	pid_t child = fork();
	if (child == 0) {
		CHECK(recv(there, text, 4, 0) == 4 && memcmp(text, "two ", 4) == 0);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	child = vfork();
	if (child == 0) {
		close(there);
		close(here);
		close(server);
		dup2(2, there);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	CHECK(recv(there, text, sizeof text, 0) == 5 && memcmp(text, "three", 5) == 0);
	close(here);
	close(there);
	close(server);
}

static volatile int going = 1;

static void *opens(void *argument)
{
	(void)argument;
	while (going) {
		int fd = socket(family, SOCK_STREAM, IPPROTO_SCTP);
		CHECK(fd >= 0);
		close(fd);
	}
	return NULL;
}

/* A child does not wait for what a thread of its parent holds. */
static void forking_threads(void)
{
	pthread_t thread[2];
	int n, status;

	for (n = 0; n < 2; n++)
		CHECK(pthread_create(&thread[n], NULL, opens, NULL) == 0);
	for (n = 0; n < 300; n++) {
		pid_t child = fork();
		CHECK(child >= 0);
		if (child == 0) {
			alarm(20);
			for (int fd = 3; fd < 20; fd++)
				close(fd);
			_exit(0);
		}
		CHECK(waitpid(child, &status, 0) == child && status == 0);
	}
	going = 0;
	for (n = 0; n < 2; n++)
		CHECK(pthread_join(thread[n], NULL) == 0);
}

//= RFC 6458 6.1.11-2 6.1.11-3
/* A message that failed comes back whole, however long it is, and the socket goes on. */
static void failing(void)
{
	enum { SIZE = 900000 };
	static char block[SIZE], back[SIZE + 1000];
	struct sockaddr_storage to;
	socklen_t len = name(&to, loopback, PORT);
	int fd = socket(family, SOCK_SEQPACKET, IPPROTO_SCTP);
	struct iovec iov = { back, sizeof back };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };
	int size = 4 * SIZE;
	char byte;

	memset(block, 'b', sizeof block);
	CHECK(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size) == 0);
	CHECK(event(fd, SCTP_SEND_FAILED_EVENT, 1) == 0);
	CHECK(sendto(fd, block, SIZE, 0, (struct sockaddr *)&to, len) == SIZE);
	struct sctp_send_failed_event *failed = (void *)back;
	ssize_t n = recvmsg(fd, &message, 0);
	CHECK(n == (ssize_t)(sizeof *failed + SIZE));
	CHECK(message.msg_flags & MSG_NOTIFICATION && message.msg_flags & MSG_EOR);
	CHECK(failed->ssf_type == SCTP_SEND_FAILED_EVENT && failed->ssf_length == (uint32_t)n);
	/* SCTP_DATA_NOT_FRAG. */
	CHECK(failed->ssfe_info.snd_flags == 3);
	CHECK(memcmp(back + sizeof *failed, block, SIZE) == 0);
	int server = listener(SOCK_SEQPACKET, PORT);
	CHECK(sendto(fd, "x", 1, 0, (struct sockaddr *)&to, len) == 1);
	struct sockaddr_storage from;
	socklen_t from_len = sizeof from;
	CHECK(recvfrom(server, &byte, 1, 0, (struct sockaddr *)&from, &from_len) == 1);
	CHECK(sendto(server, "y", 1, 0, (struct sockaddr *)&from, from_len) == 1);
	CHECK(recv(fd, &byte, 1, 0) == 1 && byte == 'y');
	close(fd);
	close(server);
}

/* Who finds no room is refused, and may try again. */
static void backlog(void)
{
	struct sockaddr_storage to;
	socklen_t len = name(&to, loopback, PORT);
	int server = socket(family, SOCK_STREAM, IPPROTO_SCTP), fd[10], n, there;
	char byte;

	CHECK(bind(server, (struct sockaddr *)&to, len) == 0 && listen(server, 1) == 0);
	for (n = 0; n < 10; n++) {
		fd[n] = socket(family, SOCK_STREAM, IPPROTO_SCTP);
		if (connect(fd[n], (struct sockaddr *)&to, len) != 0)
			break;
	}
	CHECK(errno == ECONNREFUSED && n == 2);
	FAILS(connect(fd[n], (struct sockaddr *)&to, len), ECONNREFUSED);
	for (int m = 0; m < n; m++) {
		there = accept(server, NULL, NULL);
		CHECK(there >= 0);
		close(there);
	}
	CHECK(connect(fd[n], (struct sockaddr *)&to, len) == 0);
	there = accept(server, NULL, NULL);
	CHECK(send(fd[n], "x", 1, 0) == 1);
	CHECK(recv(there, &byte, 1, 0) == 1);
	close(there);
	for (int m = 0; m <= n; m++)
		close(fd[m]);
	close(server);
}

/* Sends short messages until all have been sent, and waits for room as long as it takes. */
static void *sends(void *argument)
{
	static char block[50000];
	int fd = *(int *)argument;

	for (int n = 0; n < 60; n++)
		CHECK(send(fd, block, sizeof block, 0) == sizeof block);
	return NULL;
}

static pthread_t main_thread;

static void *interrupts(void *argument)
{
	usleep(200000);
	CHECK(pthread_kill(main_thread, SIGUSR1) == 0);
	return argument;
}

static void nothing(int signal)
{
	(void)signal;
}

/* Whoever sends a long message behind a short one that waits for room is refused as it asked for. */
static void long_behind_short(void)
{
	enum { SIZE = 900000 };
	static char block[SIZE];
	int server = listener(SOCK_STREAM, PORT), there;
	int here = pair(server, PORT, &there);
	struct timeval patience = { 0, 200000 }, none = { 0, 0 };
	struct sigaction action = { .sa_handler = nothing };
	pthread_t sender, interrupter;
	long taken = 0;

	CHECK(pthread_create(&sender, NULL, sends, &here) == 0);
	/* Until there has been no room for a while. */
	for (int n = 0; n < 20; n++) {
		struct pollfd set = { .fd = here, .events = POLLOUT };
		if (poll(&set, 1, 0) == 1)
			n = 0;
		usleep(10000);
	}
	FAILS(send(here, block, SIZE, MSG_DONTWAIT), EAGAIN);
	CHECK(setsockopt(here, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) == 0);
	FAILS(send(here, block, SIZE, 0), EAGAIN);
	CHECK(setsockopt(here, SOL_SOCKET, SO_SNDTIMEO, &none, sizeof none) == 0);
	main_thread = pthread_self();
	CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
	CHECK(pthread_create(&interrupter, NULL, interrupts, NULL) == 0);
	FAILS(send(here, block, SIZE, 0), EINTR);
	CHECK(pthread_join(interrupter, NULL) == 0);
	while (taken < 60 * 50000) {
		ssize_t n = recv(there, block, sizeof block, 0);
		CHECK(n > 0);
		taken += n;
	}
	CHECK(pthread_join(sender, NULL) == 0 && taken == 60 * 50000);
	/* A pointer that is none, in the middle: nothing of it arrives, and the socket goes on. */
	void *hole = mmap(NULL, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(hole != MAP_FAILED);
	struct iovec halves[2] = { { block, SIZE }, { hole, SIZE } };
	struct msghdr broken = { .msg_iov = halves, .msg_iovlen = 2 };
	FAILS(sendmsg(here, &broken, 0), EFAULT);
	CHECK(munmap(hole, SIZE) == 0);
	CHECK(send(here, "x", 1, 0) == 1 && recv(there, block, sizeof block, 0) == 1);
	CHECK(send(here, block, SIZE, 0) == SIZE);
	for (taken = 0; taken < SIZE;) {
		ssize_t n = recv(there, block, sizeof block, 0);
		CHECK(n > 0);
		taken += n;
	}
	close(here);
	close(there);
	close(server);
}

static int reused, accept_result, accept_error;

static void *accepts(void *argument)
{
	accept_result = accept(reused, NULL, NULL);
	accept_error = errno;
	return argument;
}

/* Whoever waits in `accept` gets nothing of another socket that the descriptor means by then. */
static void accepting_on_what_was_closed(void)
{
	int server = listener(SOCK_STREAM, PORT), other = listener(SOCK_STREAM, PORT + 1);
	struct sockaddr_storage to;
	pthread_t thread;

	reused = dup(server);
	CHECK(reused >= 0 && pthread_create(&thread, NULL, accepts, NULL) == 0);
	usleep(100000);
	CHECK(dup2(other, reused) == reused);
	/* Something for both to accept. */
	int first = socket(family, SOCK_STREAM, IPPROTO_SCTP);
	int second = socket(family, SOCK_STREAM, IPPROTO_SCTP);
	socklen_t len = name(&to, loopback, PORT + 1);
	CHECK(connect(second, (struct sockaddr *)&to, len) == 0);
	len = name(&to, loopback, PORT);
	CHECK(connect(first, (struct sockaddr *)&to, len) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
	CHECK(accept_result == -1 && accept_error == EBADF);
	int there = accept(server, NULL, NULL);
	CHECK(there >= 0);
	close(there);
	there = accept(other, NULL, NULL);
	CHECK(there >= 0);
	close(there);
	close(reused);
	close(first);
	close(second);
	close(other);
	close(server);
}

int main(int argc, char **argv)
{
	start(argc, argv);
	accepting();
	several_addresses(SOCK_SEQPACKET);
	several_addresses(SOCK_STREAM);
	after_the_end();
	shutting_down();
	signals();
	without_fragments(SOCK_STREAM);
	without_fragments(SOCK_SEQPACKET);
	prefork();
	rests();
	forking_threads();
	failing();
	long_behind_short();
	accepting_on_what_was_closed();
	backlog();
	return 0;
}
