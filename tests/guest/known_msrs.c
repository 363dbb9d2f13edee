// SPDX-License-Identifier: MIT
/*
 * Gives registers of a guest known values: value = base + (rate + per_cpu * CPU) * TSC / 2^32.
 * Whatever reads a model-specific register in the kernel goes through two functions; their results are replaced.
 * For tests in an emulated guest only.
 */
#include <linux/kprobes.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <asm/cpufeature.h>
#include <asm/msr.h>
#include <asm/processor.h>
#include <asm/tsc.h>

#define MOST 64
static unsigned int msr[MOST];
static ulong base[MOST], rate[MOST], per_cpu[MOST];
static unsigned int count, bases, rates, steps;
module_param_array(msr, uint, &count, 0444);
MODULE_PARM_DESC(msr, "addresses");
module_param_array(base, ulong, &bases, 0444);
MODULE_PARM_DESC(base, "values at TSC 0");
module_param_array(rate, ulong, &rates, 0444);
MODULE_PARM_DESC(rate, "increase in 2^32 TSC cycles");
module_param_array(per_cpu, ulong, &steps, 0444);
MODULE_PARM_DESC(per_cpu, "what is added to the rate for each CPU number");
static unsigned int feature[8];
static unsigned int features;
module_param_array(feature, uint, &features, 0444);
MODULE_PARM_DESC(feature, "CPU feature bits that the emulator does not report");

struct asked {
	unsigned int address;
	int *error;
};

static bool known(unsigned int address, u64 *value)
{
	unsigned int place;

	for (place = 0; place < count; place++) {
		if (msr[place] != address)
			continue;
		*value = base[place] + mul_u64_u64_shr(rdtsc(), rate[place] + per_cpu[place] * raw_smp_processor_id(), 32);
		return true;
	}
	return false;
}

static int entered(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct asked *asked = (struct asked *)instance->data;

	asked->address = (unsigned int)regs->di;
	asked->error = (int *)regs->si;
	return 0;
}

static int returned(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct asked *asked = (struct asked *)instance->data;
	u64 value;

	if (known(asked->address, &value))
		regs->ax = value;
	return 0;
}

static int returned_safe(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct asked *asked = (struct asked *)instance->data;
	u64 value;

	if (known(asked->address, &value)) {
		regs->ax = value;
		*asked->error = 0;
	}
	return 0;
}

static struct kretprobe plain = {
	.kp.symbol_name = "native_read_msr", .entry_handler = entered, .handler = returned,
	.data_size = sizeof(struct asked), .maxactive = 64,
};
static struct kretprobe safe = {
	.kp.symbol_name = "native_read_msr_safe", .entry_handler = entered, .handler = returned_safe,
	.data_size = sizeof(struct asked), .maxactive = 64,
};

static int __init known_msrs_init(void)
{
	unsigned int place;
	int cpu, error;

	for (place = 0; place < features; place++) {
		set_cpu_cap(&boot_cpu_data, feature[place]);
		for_each_online_cpu(cpu)
			set_cpu_cap(&cpu_data(cpu), feature[place]);
	}
	error = register_kretprobe(&plain);
	if (error)
		return error;
	error = register_kretprobe(&safe);
	if (error)
		unregister_kretprobe(&plain);
	return error;
}

static void __exit known_msrs_exit(void)
{
	unregister_kretprobe(&safe);
	unregister_kretprobe(&plain);
}

module_init(known_msrs_init);
module_exit(known_msrs_exit);
MODULE_DESCRIPTION("Known values for the registers of an emulated guest");
MODULE_LICENSE("GPL");
