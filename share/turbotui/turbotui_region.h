/* Marks of a program's own regions for `turbotui roofline -- COMMAND` (tasks, topdown; --regions FIFO for a program that
 * runs already); C99 or C++, Linux, nothing to link.
 *
 *     turbotui_region_begin("solve");
 *     ...
 *     turbotui_region_end("solve");
 *
 * Nothing happens where TURBOTUI_REGIONS names no FIFO, and no other file is written. A mark is one write(2) below PIPE_BUF that never blocks; the next
 * mark says how many were lost. Regions may lie in each other and be open in several threads.
 */
#ifndef TURBOTUI_REGION_H
#define TURBOTUI_REGION_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static inline void turbotui_region_mark(char kind, const char *name)
{
    static int descriptor = -2; /* -2: not looked for; two threads that look at once both find it */
    static __thread unsigned lost;
    char line[256];
    struct timespec now;
    int length, at;

    if (descriptor == -1)
        return;
    if (descriptor == -2) {
        const char *path = getenv("TURBOTUI_REGIONS");
        struct stat file;
        int opened = -1;

        if (path && stat(path, &file) == 0 && S_ISFIFO(file.st_mode))
            opened = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
        descriptor = opened < 0 ? -1 : opened;
        if (descriptor < 0)
            return;
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    length = snprintf(line, sizeof line, "%c %lld %ld %ld %u ", kind, now.tv_sec * 1000000000LL + now.tv_nsec,
                      (long)getpid(), (long)syscall(SYS_gettid), lost);
    for (at = 0; name[at] && at < 128; at++)
        line[length++] = (unsigned char)name[at] < ' ' || name[at] == 127 ? '?' : name[at];
    line[length++] = '\n';
    if (write(descriptor, line, (size_t)length) != length)
        lost++;
    else
        lost = 0;
}

static inline void turbotui_region_begin(const char *name) { turbotui_region_mark('B', name); }
static inline void turbotui_region_end(const char *name) { turbotui_region_mark('E', name); }

#endif
