/* The inner loops of kernel.py, for speed: the same IEEE operations, the same integers.
 *
 * Nothing here allocates, branches on a record in a way that another kernel would not, or keeps
 * state. tests/engines/test_native.py compares both kernels value by value.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
#define FAST __attribute__((target_clones("avx2", "default")))
#else
#define FAST
#endif

/* Put the differences values[i] - centre into bins by their top 16 bits. A bin is a pair: how many
 * there are, and the sum of the 28 bits that follow. Four tables of pairs, so many entries apart, are
 * filled in turn and are to be added up: neighbours often fall into one bin, and then would wait for
 * each other. With a distance of 0 they are one table. */
static inline void add(double distance, uint64_t *table)
{
    uint64_t bits;
    memcpy(&bits, &distance, sizeof bits);
    uint64_t *bin = table + 2 * (bits >> 48);
    bin[0]++;
    bin[1] += (bits >> 20) & 0xfffffff;
}

FAST void tametail_profile(const double *values, int64_t size, double centre, uint64_t *tables,
                           int64_t apart)
{
    int64_t i = 0;
    for (; i + 4 <= size; i += 4) {
        add(values[i] - centre, tables);
        add(values[i + 1] - centre, tables + apart);
        add(values[i + 2] - centre, tables + 2 * apart);
        add(values[i + 3] - centre, tables + 3 * apart);
    }
    for (; i < size; i++)
        add(values[i] - centre, tables);
}

/* Count the values that are NaN. */
FAST int64_t tametail_missing(const double *values, int64_t size)
{
    int64_t missing = 0;
    for (int64_t i = 0; i < size; i++)
        missing += values[i] != values[i];
    return missing;
}

/* Add up floor(clip(values[i] * inverse_tick, low, high)) - centre over the values that are not
 * NaN, and count those that are. A term is an integer of up to 2^36: added to 1.5 * 2^52 it shows in
 * the low bits of the double, and integers add up in any order. */
FAST void tametail_clipped(const double *values, int64_t size, double inverse_tick, double low,
                           double high, double centre, int64_t *result)
{
    const double shift = 6755399441055744.0;
    const int64_t shift_bits = 0x4338000000000000;
    int64_t sum = 0, missing = 0;
    for (int64_t i = 0; i < size; i++) {
        double ticks = values[i] * inverse_tick;
        ticks = ticks < low ? low : ticks; /* NaN stays NaN */
        ticks = ticks > high ? high : ticks;
        double shifted = (floor(ticks) - centre) + shift;
        int64_t bits, absent = -(int64_t)(shifted != shifted);
        memcpy(&bits, &shifted, sizeof bits);
        sum += (bits - shift_bits) & ~absent;
        missing -= absent;
    }
    result[0] = sum;
    result[1] = missing;
}
