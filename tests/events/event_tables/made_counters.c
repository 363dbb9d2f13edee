/* Preloaded into a perf that runs without counters (under qemu-user): each event that it opens gets a count of its own.
 *
 * What perf stat does with a counter is open, ioctl and read (perf_event_open(2)). A counter here is an eventfd, so that
 * its number is a real descriptor; its count is made of type and configs and never changes.
 *
 *     aarch64-linux-gnu-gcc -shared -fPIC -O1 -o made_counters.so made_counters.c
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST = 65536 };
static uint64_t counts[MOST]; /* by descriptor; 0 is none of ours */

static uint64_t made(const struct perf_event_attr *attr)
{
	return 1000000 + (attr->type * 31 + attr->config * 2654435761u + attr->config1 * 97) % 99999989;
}

long syscall(long number, ...)
{
	va_list list;
	long words[6];

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		words[i] = va_arg(list, long);
	va_end(list);
	if (number == SYS_perf_event_open) {
		int descriptor = eventfd(0, EFD_CLOEXEC);

		if (descriptor >= 0 && descriptor < MOST)
			counts[descriptor] = made((const struct perf_event_attr *)words[0]);
		return descriptor;
	}
	long (*next)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");

	return next(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

static int ours(int descriptor)
{
	return descriptor >= 0 && descriptor < MOST && counts[descriptor];
}

int ioctl(int descriptor, unsigned long request, ...)
{
	va_list list;
	void *argument;

	va_start(list, request);
	argument = va_arg(list, void *);
	va_end(list);
	if (ours(descriptor)) {
		if (request == PERF_EVENT_IOC_ID)
			*(uint64_t *)argument = descriptor;
		return 0;
	}
	int (*next)(int, unsigned long, ...) = (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");

	return next(descriptor, request, argument);
}

ssize_t read(int descriptor, void *into, size_t size)
{
	if (ours(descriptor)) {
		/* value, time enabled, time running: what is asked for without PERF_FORMAT_GROUP */
		uint64_t words[] = {counts[descriptor], 1000000000, 1000000000, descriptor};

		size = size < sizeof words ? size : sizeof words;
		memcpy(into, words, size);
		return size;
	}
	ssize_t (*next)(int, void *, size_t) = (ssize_t (*)(int, void *, size_t))dlsym(RTLD_NEXT, "read");

	return next(descriptor, into, size);
}

ssize_t __read_chk(int descriptor, void *into, size_t size, size_t room)
{
	return read(descriptor, into, size < room ? size : room);
}

int close(int descriptor)
{
	int (*next)(int) = (int (*)(int))dlsym(RTLD_NEXT, "close");

	if (ours(descriptor))
		counts[descriptor] = 0;
	return next(descriptor);
}
