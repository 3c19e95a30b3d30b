/* SPDX-License-Identifier: MIT OR Apache-2.0 */

/*
 * How a peer for interoperability tests says that a test has failed.
 */

#ifndef TRESSE_PEER_FAILURE_H
#define TRESSE_PEER_FAILURE_H

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

/* One line with the reason, and the end of the process. */
__attribute__((noreturn, format(printf, 1, 2)))
static void fail(const char *format, ...)
{
	va_list arguments;

	fputs("FAIL ", stdout);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
	fflush(stdout);
	_exit(1); /* threads of the stack must not hold the process */
}

#endif
