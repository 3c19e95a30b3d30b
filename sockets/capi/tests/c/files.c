/* Every call of the C library that writes to a descriptor or reads from one: on an SCTP socket it does
 * what it says, or it fails; never does it succeed with something else. The list is ../calls.txt. */
#define _GNU_SOURCE
#include <aio.h>
#include <execinfo.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/sendfile.h>
#include <fcntl.h>
#include "test.h"
#include <signal.h>

enum { PORT = 5081 };

static char text[] = "8 bytes!", got[64];
static struct iovec out[2] = { { text, 3 }, { text + 3, 5 } };
static struct iovec in[2] = { { got, 3 }, { got + 3, 61 } };
static struct msghdr message_out = { .msg_iov = out, .msg_iovlen = 2 };
static struct msghdr message_in = { .msg_iov = in, .msg_iovlen = 2 };
static int file, pipes[2];
static loff_t place;

static long do_write(int fd) { return write(fd, text, 8); }
static long do_writev(int fd) { return writev(fd, out, 2); }
static long do_send(int fd) { return send(fd, text, 8, 0); }
static long do_sendto(int fd) { return sendto(fd, text, 8, 0, NULL, 0); }
static long do_sendmsg(int fd) { return sendmsg(fd, &message_out, 0); }
static long do_sendmmsg(int fd)
{
	struct mmsghdr list = { .msg_hdr = message_out };
	return sendmmsg(fd, &list, 1, 0) == 1 ? (long)list.msg_len : -1;
}
static long do_pwrite(int fd) { return pwrite(fd, text, 8, 0); }
static long do_pwrite64(int fd) { return pwrite64(fd, text, 8, 0); }
static long do_pwritev(int fd) { return pwritev(fd, out, 2, 0); }
static long do_pwritev64(int fd) { return pwritev64(fd, out, 2, 0); }
static long do_pwritev2(int fd) { return pwritev2(fd, out, 2, -1, 0); }
static long do_pwritev64v2(int fd) { return pwritev64v2(fd, out, 2, -1, 0); }
static long do_sendfile(int fd) { return sendfile(fd, file, NULL, 100); }
static long do_sendfile64(int fd) { return sendfile64(fd, file, &place, 100); }
static long do_copy_file_range(int fd) { return copy_file_range(file, &place, fd, NULL, 8, 0); }
static long do_splice(int fd) { return splice(pipes[0], NULL, fd, NULL, 8, SPLICE_F_NONBLOCK); }
static long do_tee(int fd) { return tee(pipes[0], fd, 8, SPLICE_F_NONBLOCK); }
static long do_vmsplice(int fd) { return vmsplice(fd, out, 2, SPLICE_F_NONBLOCK); }
static long do_dprintf(int fd) { return dprintf(fd, "%d %s%c%.0f", 8, "byte", 's', 1.0) - 0; }
static long pass_on(int fd, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	long n = vdprintf(fd, format, arguments);
	va_end(arguments);
	return n;
}
static long do_vdprintf(int fd) { return pass_on(fd, "%d %s%c%.0f", 8, "byte", 's', 1.0); }
static long do_eventfd_write(int fd)
{
	eventfd_t value;
	memcpy(&value, text, 8);
	return eventfd_write(fd, value) == 0 ? 8 : -1;
}
static long through_stream(int fd, const char *mode)
{
	FILE *stream = fdopen(dup(fd), mode);
	if (!stream)
		return -1;
	if (*mode == 'w')
		return fprintf(stream, "%s", text) == 8 && fclose(stream) == 0 ? 8 : -1;
	long n = fread(got, 1, 8, stream);
	return fclose(stream) == 0 ? n : -1;
}
static long do_fdopen(int fd) { return through_stream(fd, "w"); }
static struct aiocb control;
static struct aiocb *operation(int fd, int code)
{
	memset(&control, 0, sizeof control);
	control.aio_fildes = fd;
	control.aio_buf = code == LIO_WRITE ? text : got;
	control.aio_nbytes = 8;
	control.aio_lio_opcode = code;
	return &control;
}
static long do_aio_write(int fd) { return aio_write(operation(fd, LIO_WRITE)); }
static long do_lio_listio(int fd)
{
	struct aiocb *list[] = { operation(fd, LIO_WRITE) };
	return lio_listio(LIO_WAIT, list, 1, NULL);
}

static long do_read(int fd) { return read(fd, got, sizeof got); }
static long do_readv(int fd) { return readv(fd, in, 2); }
static long do_recv(int fd) { return recv(fd, got, sizeof got, 0); }
static long do_recvfrom(int fd) { return recvfrom(fd, got, sizeof got, 0, NULL, NULL); }
static long do_recvmsg(int fd) { return recvmsg(fd, &message_in, 0); }
static long do_recvmmsg(int fd)
{
	struct mmsghdr list = { .msg_hdr = message_in };
	return recvmmsg(fd, &list, 1, 0, NULL) == 1 ? (long)list.msg_len : -1;
}
static long do_pread(int fd) { return pread(fd, got, sizeof got, 0); }
static long do_pread64(int fd) { return pread64(fd, got, sizeof got, 0); }
static long do_preadv(int fd) { return preadv(fd, in, 2, 0); }
static long do_preadv64(int fd) { return preadv64(fd, in, 2, 0); }
static long do_preadv2(int fd) { return preadv2(fd, in, 2, -1, 0); }
static long do_preadv64v2(int fd) { return preadv64v2(fd, in, 2, -1, 0); }
static long do_eventfd_read(int fd) { return eventfd_read(fd, (void *)got) == 0 ? 8 : -1; }
static long read_stream(int fd) { return through_stream(fd, "r"); }
static long from_sendfile(int fd) { return sendfile(file, fd, NULL, 8); }
static long from_splice(int fd) { return splice(fd, NULL, pipes[1], NULL, 8, SPLICE_F_NONBLOCK); }
static long from_copy_file_range(int fd) { return copy_file_range(fd, NULL, file, NULL, 8, 0); }
static long from_tee(int fd) { return tee(fd, pipes[1], 8, SPLICE_F_NONBLOCK); }
static long from_vmsplice(int fd) { return vmsplice(fd, in, 2, SPLICE_F_NONBLOCK); }
static long do_aio_read(int fd) { return aio_read(operation(fd, LIO_READ)); }

#ifdef TEST_LKSCTP
/* Other names, which only the preloaded library knows. */
ssize_t __read_chk(int, void *, size_t, size_t);
ssize_t __recv_chk(int, void *, size_t, size_t, int);
ssize_t __recvfrom_chk(int, void *, size_t, size_t, int, struct sockaddr *, socklen_t *);
ssize_t __pread_chk(int, void *, size_t, off_t, size_t);
ssize_t __pread64_chk(int, void *, size_t, off_t, size_t);
int __dprintf_chk(int, int, const char *, ...);
int __vdprintf_chk(int, int, const char *, va_list);
ssize_t __read(int, void *, size_t);
ssize_t __write(int, const void *, size_t);
ssize_t __send(int, const void *, size_t, int);
ssize_t __pread64(int, void *, size_t, off_t);
ssize_t __pwrite64(int, const void *, size_t, off_t);
static long do_read_chk(int fd) { return __read_chk(fd, got, sizeof got, sizeof got); }
static long do_recv_chk(int fd) { return __recv_chk(fd, got, sizeof got, sizeof got, 0); }
static long do_recvfrom_chk(int fd)
{
	return __recvfrom_chk(fd, got, sizeof got, sizeof got, 0, NULL, NULL);
}
static long do_pread_chk(int fd) { return __pread_chk(fd, got, sizeof got, 0, sizeof got); }
static long do_pread64_chk(int fd) { return __pread64_chk(fd, got, sizeof got, 0, sizeof got); }
static long do_dprintf_chk(int fd)
{
	return __dprintf_chk(fd, 1, "%d %s%c%.0f", 8, "byte", 's', 1.0);
}
static long pass_on_chk(int fd, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	long n = __vdprintf_chk(fd, 1, format, arguments);
	va_end(arguments);
	return n;
}
static long do_vdprintf_chk(int fd) { return pass_on_chk(fd, "%d %s%c%.0f", 8, "byte", 's', 1.0); }
static long do_alias_read(int fd) { return __read(fd, got, sizeof got); }
static long do_alias_write(int fd) { return __write(fd, text, 8); }
static long do_alias_send(int fd) { return __send(fd, text, 8, 0); }
static long do_alias_pread64(int fd) { return __pread64(fd, got, 8, 0); }
static long do_alias_pwrite64(int fd) { return __pwrite64(fd, text, 8, 0); }
static long do_aio_read64(int fd) { return aio_read64((void *)operation(fd, LIO_READ)); }
static long do_aio_write64(int fd) { return aio_write64((void *)operation(fd, LIO_WRITE)); }
static long do_lio_listio64(int fd)
{
	struct aiocb *list[] = { operation(fd, LIO_WRITE) };
	return lio_listio64(LIO_WAIT, (void *)list, 1, NULL);
}
#endif

static const struct call {
	const char *name;
	long (*run)(int fd);
	/* What it fails with; 0 if it is served. */
	int error;
} writing[] = {
	{ "write", do_write, 0 },
	{ "writev", do_writev, 0 },
	{ "send", do_send, 0 },
	{ "sendto", do_sendto, 0 },
	{ "sendmsg", do_sendmsg, 0 },
	{ "sendmmsg", do_sendmmsg, 0 },
	{ "pwrite", do_pwrite, ESPIPE },
	{ "pwrite64", do_pwrite64, ESPIPE },
	{ "pwritev", do_pwritev, ESPIPE },
	{ "pwritev64", do_pwritev64, ESPIPE },
	{ "pwritev2", do_pwritev2, 0 },
	{ "pwritev64v2", do_pwritev64v2, 0 },
	{ "sendfile", do_sendfile, 0 },
	{ "sendfile64", do_sendfile64, 0 },
	{ "copy_file_range", do_copy_file_range, EINVAL },
	{ "splice", do_splice, EINVAL },
	{ "tee", do_tee, EINVAL },
	{ "vmsplice", do_vmsplice, EBADF },
	{ "dprintf", do_dprintf, 0 },
	{ "vdprintf", do_vdprintf, 0 },
	{ "fdopen", do_fdopen, 0 },
	{ "eventfd_write", do_eventfd_write, 0 },
	{ "aio_write", do_aio_write, EINVAL },
	{ "lio_listio", do_lio_listio, EINVAL },
#ifdef TEST_LKSCTP
	{ "__dprintf_chk", do_dprintf_chk, 0 },
	{ "__vdprintf_chk", do_vdprintf_chk, 0 },
	{ "__write", do_alias_write, 0 },
	{ "__send", do_alias_send, 0 },
	{ "__pwrite64", do_alias_pwrite64, ESPIPE },
	{ "aio_write64", do_aio_write64, EINVAL },
	{ "lio_listio64", do_lio_listio64, EINVAL },
#endif
}, reading[] = {
	{ "read", do_read, 0 },
	{ "readv", do_readv, 0 },
	{ "recv", do_recv, 0 },
	{ "recvfrom", do_recvfrom, 0 },
	{ "recvmsg", do_recvmsg, 0 },
	{ "recvmmsg", do_recvmmsg, 0 },
	{ "pread", do_pread, ESPIPE },
	{ "pread64", do_pread64, ESPIPE },
	{ "preadv", do_preadv, ESPIPE },
	{ "preadv64", do_preadv64, ESPIPE },
	{ "preadv2", do_preadv2, 0 },
	{ "preadv64v2", do_preadv64v2, 0 },
	{ "fdopen", read_stream, 0 },
	{ "eventfd_read", do_eventfd_read, 0 },
	{ "sendfile", from_sendfile, EINVAL },
	{ "splice", from_splice, EINVAL },
	{ "copy_file_range", from_copy_file_range, EINVAL },
	{ "tee", from_tee, EINVAL },
	{ "vmsplice", from_vmsplice, EBADF },
	{ "aio_read", do_aio_read, EINVAL },
#ifdef TEST_LKSCTP
	{ "__read_chk", do_read_chk, 0 },
	{ "__recv_chk", do_recv_chk, 0 },
	{ "__recvfrom_chk", do_recvfrom_chk, 0 },
	{ "__pread_chk", do_pread_chk, ESPIPE },
	{ "__pread64_chk", do_pread64_chk, ESPIPE },
	{ "__read", do_alias_read, 0 },
	{ "__pread64", do_alias_pread64, ESPIPE },
	{ "aio_read64", do_aio_read64, EINVAL },
#endif
};

enum { WRITING = sizeof writing / sizeof *writing, READING = sizeof reading / sizeof *reading };

/* The result is right, and the next messages are. */
static void check_one(const struct call *call, int writes, int here, int there)
{
	char mark[10] = "", *wanted = text;
	int made_here = strstr(call->name, "dprintf") != NULL;

	/* What the file and the pipe hold is what a call can take. */
	CHECK(pwrite(file, text, 8, 0) == 8 && ftruncate(file, 8) == 0);
	CHECK(lseek(file, 0, SEEK_SET) == 0);
	place = 0;
	memset(got, 0, sizeof got);
	if (made_here)
		wanted = "8 bytes1";
	if (!writes)
		CHECK(send(there, text, 8, 0) == 8);
	errno = 0;
	long result = call->run(here);
	if (result != (call->error ? -1 : 8) || (call->error && errno != call->error)) {
		fprintf(stderr, "%s: %ld, %s\n", call->name, result, strerror(errno));
		exit(1);
	}
	if (writes && call->error == 0)
		CHECK(recv(there, got, sizeof got, 0) == 8);
	if (!writes && call->error)
		CHECK(recv(here, got, sizeof got, 0) == 8);
	if (!writes || call->error == 0)
		CHECK(memcmp(got, wanted, 8) == 0);
	/* Nothing else came with it. */
	CHECK(send(here, "next", 4, 0) == 4);
	CHECK(recv(there, mark, sizeof mark, 0) == 4 && memcmp(mark, "next", 4) == 0);
	CHECK(send(there, "last", 4, 0) == 4);
	CHECK(recv(here, mark, sizeof mark, 0) == 4 && memcmp(mark, "last", 4) == 0);
	printf("%s\n", call->name);
}

/* More than one message, and where the file is afterwards. */
static void long_files(int here, int there)
{
	enum { SIZE = 200000 };
	static char block[SIZE], back[SIZE];
	off_t from = 1000;
	ssize_t n, taken = 0;

	for (int i = 0; i < SIZE; i++)
		block[i] = (char)(i * 7 + i / 251);
	CHECK(pwrite(file, block, SIZE, 0) == SIZE);
	CHECK(lseek(file, 0, SEEK_SET) == 0);
	CHECK(sendfile(here, file, &from, SIZE) == SIZE - 1000 && from == SIZE);
	CHECK(lseek(file, 0, SEEK_CUR) == 0);
	while (taken < SIZE - 1000) {
		n = recv(there, back + taken, sizeof back - taken, 0);
		CHECK(n > 0);
		taken += n;
	}
	CHECK(memcmp(back, block + 1000, SIZE - 1000) == 0);
	CHECK(sendfile(here, file, NULL, 70000) == 70000 && lseek(file, 0, SEEK_CUR) == 70000);
	CHECK(recv(there, back, sizeof back, 0) == 65536);
	CHECK(recv(there, back, sizeof back, 0) == 70000 - 65536);
	FAILS(sendfile(here, pipes[0], NULL, 1), EINVAL);
	FAILS(sendfile(here, there, NULL, 1), EINVAL);
	FAILS(sendfile(here, -1, NULL, 1), EBADF);
}

/* A stream for both, line by line; its descriptor is known. */
static void streams(int here, int there)
{
	char line[20];
	FILE *stream = fdopen(dup(here), "w"), *other = fdopen(dup(there), "r");

	CHECK(stream && other);
	setvbuf(stream, NULL, _IOLBF, 0);
	CHECK(fputs("one\ntwo\n", stream) >= 0);
	CHECK(fgets(line, sizeof line, other) && strcmp(line, "one\n") == 0);
	CHECK(fgets(line, sizeof line, other) && strcmp(line, "two\n") == 0);
#ifdef TEST_LKSCTP
	int type;
	socklen_t len = sizeof type;
	CHECK(fileno(stream) > 2 && fileno_unlocked(stream) == fileno(stream));
	CHECK(getsockopt(fileno(stream), SOL_SOCKET, SO_PROTOCOL, &type, &len) == 0);
	CHECK(type == IPPROTO_SCTP);
#endif
	CHECK(fclose(stream) == 0);
	CHECK(fclose(other) == 0);
	/* An ordinary one. */
	stream = fdopen(dup(file), "r");
	CHECK(stream && fileno(stream) > 2);
	CHECK(fclose(stream) == 0);
}

#ifdef TEST_LKSCTP
/* Standard output that is an SCTP socket, in this program and in another one. */
static void standard_output(int here, int there)
{
	char line[100] = "";
	void *list[1] = { (void *)standard_output };
	int before = dup(1);

	fflush(stdout);
	CHECK(dup2(here, 1) == 1);
	printf("printed %d\n", 1);
	fflush(stdout);
	CHECK(recv(there, line, sizeof line, 0) == 10 && memcmp(line, "printed 1\n", 10) == 0);
	CHECK(system("echo from a shell; exec printf and_a_program") == 0);
	CHECK(recv(there, line, sizeof line, 0) == 13 && memcmp(line, "from a shell\n", 13) == 0);
	CHECK(recv(there, line, sizeof line, 0) == 13 && memcmp(line, "and_a_program", 13) == 0);
	CHECK(dup2(before, 1) == 1);
	close(before);
	printf("back again\n");
	fflush(stdout);
	backtrace_symbols_fd(list, 1, here);
	ssize_t n = recv(there, line, sizeof line, 0);
	CHECK(n > 1 && line[n - 1] == '\n');
}
#endif

int main(int argc, char **argv)
{
	int server, here, there;

	start(argc, argv);
	char path[] = "/tmp/tresse-files-XXXXXX";
	file = mkstemp(path);
	CHECK(file >= 0 && unlink(path) == 0);
	CHECK(pipe(pipes) == 0 && write(pipes[1], text, 8) == 8);
	server = listener(SOCK_STREAM, PORT);
	here = pair(server, PORT, &there);
	for (int n = 0; n < WRITING; n++)
		check_one(&writing[n], 1, here, there);
	for (int n = 0; n < READING; n++)
		check_one(&reading[n], 0, here, there);
	long_files(here, there);
	streams(here, there);
#ifdef TEST_LKSCTP
	standard_output(here, there);
#endif
	close(here);
	close(there);
	close(server);
	return 0;
}
