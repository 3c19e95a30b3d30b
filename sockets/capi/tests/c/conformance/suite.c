/* Runs the cases: suite [--list] [-j JOBS] [--limit SECONDS] [NAME...]
 *
 * A name chooses all cases whose names begin with it. Says `ok NAME` or `FAIL NAME FILE:LINE: what` for
 * each, in the order in which they end, and exits with 1 if one failed. */
#include "suite.h"
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>

enum { NAME = 200, JOBS = 64 };

static struct suite_case *first, **last = &first;
static const char *running = "";
static pid_t runner;

int family = AF_INET;

void suite_add(struct suite_case *added)
{
	*last = added;
	last = &added->next;
}

/* One write for each line, so that lines of several processes do not mix. */
static void print(const char *format, ...)
{
	char line[1000];
	va_list arguments;
	va_start(arguments, format);
	int len = vsnprintf(line, sizeof line - 1, format, arguments);
	va_end(arguments);
	if (len > (int)sizeof line - 2)
		len = sizeof line - 2;
	line[len] = '\n';
	if (write(1, line, len + 1) < 0)
		_exit(3);
}

static const char *base(const char *file)
{
	const char *slash = strrchr(file, '/');
	return slash ? slash + 1 : file;
}

void suite_fail(const char *file, int line, const char *format, ...)
{
	char text[500];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	for (char *c = text; *c; c++)
		if (*c == '\n')
			*c = ' ';
	print("FAIL %s %s:%d: %s", running, base(file), line, text);
	_exit(1);
}

static void name_of(const struct suite_case *c, size_t row, char *name)
{
	const char *file = base(c->file);
	int len = snprintf(name, NAME, "%.*s/%s", (int)strcspn(file, "."), file, c->name);
	if (c->rows) {
		const char *const *label = (const void *)((const char *)c->rows + row * c->size);
		snprintf(name + len, NAME - len, "/%s", *label);
	}
}

#ifndef SUITE_LKSCTP
/* An engine of the case's own, which has all loopback addresses. */
static void start_engine(void)
{
	struct tresse_config config = { .size = sizeof config, .local = "127.0.0.1,127.0.0.2,::1" };

	if (getenv("TRESSE_ENGINE"))
		return;
	for (int tries = 0; tries < 20; tries++) {
		struct sockaddr_in at = { .sin_family = AF_INET };
		socklen_t len = sizeof at;
		int udp = socket(AF_INET, SOCK_DGRAM, 0);
		CHECK(bind(udp, (struct sockaddr *)&at, len) == 0);
		CHECK(getsockname(udp, (struct sockaddr *)&at, &len) == 0);
		close(udp);
		config.udp_port = config.peer_udp_port = ntohs(at.sin_port);
		if (tresse_start(&config) == 0)
			return;
	}
	suite_fail(__FILE__, __LINE__, "tresse_start: %s", tresse_error());
}
#endif

static void run_case(const struct suite_case *c, size_t row, const char *name)
{
	setpgid(0, 0);
	running = name;
#ifndef SUITE_LKSCTP
	start_engine();
#endif
	c->run(c->rows ? (const char *)c->rows + row * c->size : NULL);
	_exit(0);
}

struct job {
	pid_t pid;
	long long deadline;
	char name[NAME];
};
static struct job jobs[JOBS];
static int active, failed, passed;

/* Notes that a case has ended, and ends what it left behind. */
static void finish(struct job *job, int status, bool late)
{
	kill(-job->pid, SIGKILL);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
		print("ok %s", job->name);
		passed++;
	} else {
		failed++;
		if (late)
			print("FAIL %s -:0: the time is over", job->name);
		else if (WIFSIGNALED(status))
			print("FAIL %s -:0: ended by SIG%s", job->name,
			      sigabbrev_np(WTERMSIG(status)));
		/* Otherwise it has said so. */
	}
	job->pid = 0;
	active--;
}

static void wait_for_one(void)
{
	sigset_t child;
	struct timespec a_while = { .tv_nsec = 20000000 };
	int status;
	pid_t pid;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigtimedwait(&child, NULL, &a_while);
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (int n = 0; n < JOBS; n++)
			if (jobs[n].pid == pid)
				finish(&jobs[n], status, false);
	for (int n = 0; n < JOBS; n++)
		if (jobs[n].pid && clock_ms() > jobs[n].deadline) {
			kill(-jobs[n].pid, SIGKILL);
			kill(jobs[n].pid, SIGKILL);
			waitpid(jobs[n].pid, &status, 0);
			finish(&jobs[n], status, true);
		}
}

static bool chosen(const char *name, char **names, int count)
{
	for (int n = 0; n < count; n++)
		if (strncmp(name, names[n], strlen(names[n])) == 0)
			return true;
	return count == 0;
}

int main(int argc, char **argv)
{
	int most = 4, n = 1;
	long long limit = 2000;
	bool list = false;
	sigset_t child;

	for (; n < argc && argv[n][0] == '-'; n++) {
		if (strcmp(argv[n], "--list") == 0)
			list = true;
		else if (strcmp(argv[n], "-j") == 0 && n + 1 < argc)
			most = atoi(argv[++n]);
		else if (strcmp(argv[n], "--limit") == 0 && n + 1 < argc)
			limit = atoi(argv[++n]) * 1000LL;
		else
			return 2;
	}
	most = most < 1 ? 1 : most > JOBS ? JOBS : most;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	runner = getpid();
	for (const struct suite_case *c = first; c; c = c->next)
		for (size_t row = 0; row < c->count; row++) {
			char name[NAME];
			name_of(c, row, name);
			if (!chosen(name, argv + n, argc - n))
				continue;
			if (list) {
				print("%s", name);
				continue;
			}
			while (active >= most)
				wait_for_one();
			struct job *job = jobs;
			while (job->pid)
				job++;
			strcpy(job->name, name);
			job->deadline = clock_ms() + limit;
			job->pid = fork();
			if (job->pid == 0) {
				sigprocmask(SIG_UNBLOCK, &child, NULL);
				run_case(c, row, name);
			}
			active++;
		}
	while (active)
		wait_for_one();
	if (!list)
		print("%d passed, %d failed", passed, failed);
	return failed > 0;
}
