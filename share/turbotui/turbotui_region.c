/* What turbotui_region.f90 calls: cc -c turbotui_region.c, and link it. */
#include "turbotui_region.h"

void turbotui_region_begin_c(const char *name) { turbotui_region_begin(name); }
void turbotui_region_end_c(const char *name) { turbotui_region_end(name); }
