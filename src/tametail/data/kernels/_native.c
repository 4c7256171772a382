/* The inner loops of plain.py, for speed: the same IEEE operations, the same integers.
 *
 * Nothing here allocates or keeps state. native.py compares every loop with plain.py before it is
 * used, and the library is not used if they differ: so a compiler may be wrong, but not unnoticed.
 */
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#if FLT_EVAL_METHOD != 0
#error "double arithmetic must be rounded to double"
#endif

/* Must be native.VERSION: raised whenever a loop means something else, or has other arguments. */
enum { VERSION = 8 };

int64_t tametail_version(void) { return VERSION; }

/* Whether this processor can run the copy that was compiled for x86-64-v3. */
int64_t tametail_level_3(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
#else
    return 0;
#endif
}

/* Another library may have left the processor flushing subnormal numbers to zero, or rounding
 * otherwise. A pass has the modes of IEEE 754 and leaves those that it found. The loops are not
 * inlined, so that none of their operations moves out of the pass. */
#if defined(__GNUC__)
#define LOOP static __attribute__((noinline))
#else
#define LOOP static
#endif

#if defined(__SSE2__) && defined(__GNUC__)
typedef unsigned int modes;
static modes begin(void)
{
    modes before = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(0x1f80);
    return before;
}
static void end(modes before) { __builtin_ia32_ldmxcsr(before); }
#elif defined(__aarch64__) && defined(__GNUC__)
typedef uint64_t modes;
static modes begin(void)
{
    modes before, none = 0;
    __asm__ volatile("mrs %0, fpcr" : "=r"(before));
    __asm__ volatile("msr fpcr, %0" : : "r"(none));
    return before;
}
static void end(modes before) { __asm__ volatile("msr fpcr, %0" : : "r"(before)); }
#else
typedef int modes;
static modes begin(void) { return 0; }
static void end(modes before) { (void)before; }
#endif

/* The profile: counts, and sums of rests, by the top 16 bits of x - centre.
 *
 * A record is one word and one addition. The word is the bits of x - centre, whose lowest 20 the
 * profile does not use: they become 1. Words of one bin b add up, modulo 2^64, to
 *     c (b 2^48 + 1) + 2^20 r,      c their number and r the sum of their 28-bit rests,
 * and c and r can be told apart while c is at most 2^16: then r is below 2^44. So a table is emptied
 * after so many words. Two are filled in turn: neighbours often fall into one bin, and would
 * wait for each other. They are a little apart, so as not to share places of the cache. */
enum { BINS = 1 << 16, APART = BINS + 8, BLOCK = 64, FULL = 2 << 16, BANDS = 64 };

int64_t tametail_profile_scratch(void) { return 2 * APART; }

LOOP void fill(const double *values, int64_t size, double centre, uint64_t *tables)
{
    uint64_t words[BLOCK];
    for (int64_t start = 0; start < size; start += BLOCK) {
        int64_t length = size - start < BLOCK ? size - start : BLOCK, i = 0;
        for (int64_t k = 0; k < length; k++) {
            double distance = values[start + k] - centre;
            uint64_t bits;
            memcpy(&bits, &distance, sizeof bits);
            words[k] = (bits & ~(uint64_t)0xfffff) | 1;
        }
#pragma GCC unroll 4
        for (; i + 2 <= length; i += 2) {
            tables[words[i] >> 48] += words[i];
            tables[APART + (words[i + 1] >> 48)] += words[i + 1];
        }
        if (i < length)
            tables[words[i] >> 48] += words[i];
    }
}

/* Move the words of one band of bins to the profile, which has pairs of a count and a sum. */
static int64_t empty_band(uint64_t *tables, uint64_t band, uint64_t *profile)
{
    int64_t found = 0;
    for (uint64_t bin = band * (BINS / BANDS); bin < (band + 1) * (BINS / BANDS); bin++)
        for (int table = 0; table < 2; table++) {
            uint64_t *word = tables + table * APART + bin, count = *word & 0xfffff;
            if (count) {
                profile[2 * bin] += count;
                profile[2 * bin + 1] += (*word - count * ((bin << 48) + 1)) >> 20;
                *word = 0;
                found += (int64_t)count;
            }
        }
    return found;
}

/* Empty the tables of so many words: the bands first that are known to have some, and others only
 * until all words are found. Return the bands that are known now, as bits. */
static uint64_t empty(uint64_t *tables, int64_t words, uint64_t *profile, uint64_t known)
{
    uint64_t fresh = 0;
    for (uint64_t band = 0; band < BANDS; band++)
        if (known >> band & 1)
            words -= empty_band(tables, band, profile);
    for (uint64_t band = 0; band < BANDS && words > 0; band++)
        if (!(known >> band & 1)) {
            int64_t found = empty_band(tables, band, profile);
            fresh |= (uint64_t)(found > 0) << band;
            words -= found;
        }
    return known | fresh;
}

/* The tables are all 0 before and after. Return the bands that may have records: those that are
 * known already, and others that these values are in. */
uint64_t tametail_profile(const double *values, int64_t size, double centre, uint64_t *tables,
                          uint64_t *profile, uint64_t known)
{
    modes before = begin();
    for (int64_t start = 0; start < size; start += FULL) {
        int64_t part = size - start < FULL ? size - start : FULL;
        fill(values + start, part, centre, tables);
        known = empty(tables, part, profile, known);
    }
    end(before);
    return known;
}

/* The distances alone, for few values. */
LOOP void subtract(const double *values, int64_t size, double centre, double *distances)
{
    for (int64_t i = 0; i < size; i++)
        distances[i] = values[i] - centre;
}

void tametail_subtract(const double *values, int64_t size, double centre, double *distances)
{
    modes before = begin();
    subtract(values, size, centre, distances);
    end(before);
}

/* Count the values that are NaN. */
int64_t tametail_missing(const double *values, int64_t size)
{
    int64_t missing = 0;
    for (int64_t i = 0; i < size; i++)
        missing += values[i] != values[i];
    return missing;
}

/* Add up floor(clip(values[i] * inverse_tick, low, high)) - centre over the values that are not
 * NaN, and count those that are. A term is an integer of up to 2^36: added to 1.5 * 2^52 it shows in
 * the low bits of the double, and integers add up in any order. */
#define SHIFT 6755399441055744.0

LOOP void clipped(const double *values, int64_t size, double inverse_tick, double low, double high,
                  double centre, int64_t *result)
{
    const int64_t shift_bits = 0x4338000000000000;
    int64_t sum = 0, missing = 0;
    for (int64_t i = 0; i < size; i++) {
        double ticks = values[i] * inverse_tick;
        ticks = ticks < low ? low : ticks; /* NaN stays NaN */
        ticks = ticks > high ? high : ticks;
        double shifted = (floor(ticks) - centre) + SHIFT;
        int64_t bits, absent = -(int64_t)(shifted != shifted);
        memcpy(&bits, &shifted, sizeof bits);
        sum += (bits - shift_bits) & ~absent;
        missing -= absent;
    }
    result[0] = sum;
    result[1] = missing;
}

void tametail_clipped(const double *values, int64_t size, double inverse_tick, double low,
                      double high, double centre, int64_t *result)
{
    modes before = begin();
    clipped(values, size, inverse_tick, low, high, centre, result);
    end(before);
}

/* Rows in a ball: see plain.py. Four rows are mapped at a time, with their norms, and then added up
 * if they are inside. All sums are of integers below 2^53, exact in any order. */
enum { ROWS = 4, LANES = 4 };

typedef struct {
    const double *centres, *inverse, *lows, *highs; /* of every column */
    int64_t n_columns, order;
} Map;

static inline double tick(double x, double centre, double inverse, double low, double high)
{
    double t = (x - centre) * inverse;
    t = t > high ? high : t; /* NaN stays NaN */
    t = t < low ? low : t;
    return (t + SHIFT) - SHIFT; /* rounds to the nearest; what is too large for it is outside */
}

static inline double power(double t, int64_t order) { return order == 2 ? t * t : fabs(t); }

/* Map one row again that has a cell without a number; such a cell becomes 0. */
static double mend(const Map *map, const double *row, double *ticks, int64_t *missing)
{
    double norm = 0.0;
    for (int64_t j = 0; j < map->n_columns; j++) {
        if (row[j] != row[j])
            missing[j]++;
        if (ticks[j] != ticks[j])
            ticks[j] = 0.0;
        norm += power(ticks[j], map->order);
    }
    return norm;
}

/* Map so many rows, of which there are 1 to ROWS, and find their norms. */
static inline void map_rows(const Map *map, const int64_t order, const double *restrict rows,
                            const int64_t count, double *restrict ticks, double *restrict norms,
                            int64_t *missing)
{
    const int64_t n_columns = map->n_columns, whole = n_columns - n_columns % LANES;
    const double *restrict centres = map->centres, *restrict inverse = map->inverse;
    const double *restrict lows = map->lows, *restrict highs = map->highs;
    double part[ROWS][LANES] = {{0}};
    for (int64_t j = 0; j < whole; j += LANES)
        for (int64_t k = 0; k < count; k++)
            for (int64_t l = 0; l < LANES; l++) {
                const int64_t c = j + l;
                double t = tick(rows[k * n_columns + c], centres[c], inverse[c], lows[c], highs[c]);
                ticks[k * n_columns + c] = t;
                part[k][l] += power(t, order);
            }
    for (int64_t k = 0; k < count; k++) {
        norms[k] = (part[k][0] + part[k][1]) + (part[k][2] + part[k][3]);
        for (int64_t j = whole; j < n_columns; j++) {
            double t = tick(rows[k * n_columns + j], centres[j], inverse[j], lows[j], highs[j]);
            ticks[k * n_columns + j] = t;
            norms[k] += power(t, order);
        }
        if (norms[k] != norms[k])
            norms[k] = mend(map, rows + k * n_columns, ticks + k * n_columns, missing);
    }
}

static inline void norms_of(const Map *map, const int64_t order, const double *rows, int64_t size,
                            double *ticks, double *norms, int64_t *missing)
{
    for (int64_t r = 0; r < size; r += ROWS, rows += ROWS * map->n_columns)
        if (size - r >= ROWS)
            map_rows(map, order, rows, ROWS, ticks, norms + r, missing);
        else
            map_rows(map, order, rows, size - r, ticks, norms + r, missing);
}

LOOP void all_norms(const Map *map, const double *rows, int64_t size, double *ticks, double *norms,
                    int64_t *missing)
{
    if (map->order == 2)
        norms_of(map, 2, rows, size, ticks, norms, missing);
    else
        norms_of(map, 1, rows, size, ticks, norms, missing);
}

/* The norm of every row. ticks has room for ROWS rows; so below. */
void tametail_norms(const double *rows, int64_t size, int64_t n_columns, const double *centres,
                    const double *inverse, const double *lows, const double *highs, int64_t order,
                    double *ticks, double *norms, int64_t *missing)
{
    const Map map = {centres, inverse, lows, highs, n_columns, order};
    modes before = begin();
    all_norms(&map, rows, size, ticks, norms, missing);
    end(before);
}

static inline void add_rows(const double *restrict ticks, const int64_t n_columns,
                            double *restrict sums, double *restrict squares)
{
    for (int64_t j = 0; j < n_columns; j++) {
        double a = ticks[j], b = ticks[n_columns + j], c = ticks[2 * n_columns + j], d = ticks[3 * n_columns + j];
        sums[j] += (a + b) + (c + d);
        squares[j] += (a * a + b * b) + (c * c + d * d);
    }
}

static inline int64_t ball_of(const Map *map, const int64_t order, const double *rows, int64_t size,
                              double bound, double *ticks, double *sums, double *squares,
                              int64_t *missing, int64_t *far)
{
    const int64_t n_columns = map->n_columns;
    int64_t found = 0;
    for (int64_t r = 0; r < size; r += ROWS, rows += ROWS * n_columns) {
        double norms[ROWS] = {0};
        if (size - r >= ROWS) {
            map_rows(map, order, rows, ROWS, ticks, norms, missing);
        } else {
            memset(ticks, 0, sizeof *ticks * (size_t)(ROWS * n_columns));
            map_rows(map, order, rows, size - r, ticks, norms, missing);
        }
        for (int64_t k = 0; k < ROWS; k++)
            if (norms[k] > bound) {
                far[found++] = r + k;
                memset(ticks + k * n_columns, 0, sizeof *ticks * (size_t)n_columns);
            }
        add_rows(ticks, n_columns, sums, squares);
    }
    return found;
}

LOOP int64_t ball(const Map *map, const double *rows, int64_t size, double bound, double *ticks,
                  double *sums, double *squares, int64_t *missing, int64_t *far)
{
    if (map->order == 2)
        return ball_of(map, 2, rows, size, bound, ticks, sums, squares, missing, far);
    return ball_of(map, 1, rows, size, bound, ticks, sums, squares, missing, far);
}

/* Add up the rows whose norm is at most the bound, and their squares; list the others in far, and
 * return how many these are. */
int64_t tametail_ball(const double *rows, int64_t size, int64_t n_columns, const double *centres,
                      const double *inverse, const double *lows, const double *highs, int64_t order,
                      double *ticks, double bound, double *sums, double *squares, int64_t *missing,
                      int64_t *far)
{
    const Map map = {centres, inverse, lows, highs, n_columns, order};
    modes before = begin();
    int64_t found = ball(&map, rows, size, bound, ticks, sums, squares, missing, far);
    end(before);
    return found;
}

/* Count the cells of every column by how many of the same steps their distance from the centre
 * reaches. The top 16 bits of a distance tell that but for one step, the edge that may lie in the
 * bin: base has what is certain, and is 0 for NaN. A table of counts has so many cells a column. */
LOOP void beyond(const double *rows, int64_t size, int64_t n_columns, const double *centres,
                 const int64_t *base, const double *edges, int64_t width, int64_t *counts)
{
    for (int64_t r = 0; r < size; r++, rows += n_columns)
        for (int64_t j = 0; j < n_columns; j++) {
            double distance = fabs(rows[j] - centres[j]);
            uint64_t bits;
            memcpy(&bits, &distance, sizeof bits);
            counts[j * width + base[bits >> 48] + (distance >= edges[bits >> 48])]++;
        }
}

void tametail_beyond(const double *rows, int64_t size, int64_t n_columns, const double *centres,
                     const int64_t *base, const double *edges, int64_t width, int64_t *counts)
{
    modes before = begin();
    beyond(rows, size, n_columns, centres, base, edges, width, counts);
    end(before);
}

/* --- persons: doubles as integers in words of 32 bits, and ids as codes. Integers only. */

enum { NOBODY = -1, UNKNOWN = -2 };

/* The bits of a number, an infinity as the largest double; -1 for what is no number. */
static inline int64_t finite_bits(double value)
{
    const int64_t infinite = 0x7FFll << 52;
    int64_t bits;
    memcpy(&bits, &value, sizeof bits);
    int64_t size = bits & INT64_MAX;
    if (size > infinite)
        return -1;
    return size == infinite ? infinite - 1 : size;
}

/* From the bits: a comparison would depend on how the processor treats subnormal numbers. */
static inline int64_t sign_of(double value)
{
    int64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits < 0 ? -1 : 1;
}

static inline int64_t place_of(int64_t size)
{
    int64_t field = size >> 52;
    return field > 1 ? field - 1 : 0;
}

/* Mark the words that the numbers of persons begin in, and the two after each. */
void tametail_words(const int64_t *codes, const double *values, int64_t size, int64_t *used)
{
    for (int64_t i = 0; i < size; i++) {
        int64_t bits = finite_bits(values[i]);
        if (codes[i] >= 0 && bits >= 0)
            used[place_of(bits) / 32] = 1;
    }
}

/* Rows whose places are asked for ahead: memory answers while others are looked at. */
enum { AHEAD = 32 };
#if defined(__GNUC__)
#define SOON(place) __builtin_prefetch(place)
#else
#define SOON(place)
#endif

/* Add the digits of every number, and 1 to the count, to the row of its person. A row has a count
 * first; slots say where in it a word is. */
void tametail_digits(const int64_t *codes, const double *values, int64_t size,
                     const int64_t *slots, int64_t width, int64_t *table)
{
    for (int64_t i = 0; i < size; i++) {
        if (i + AHEAD < size && codes[i + AHEAD] >= 0)
            SOON(table + codes[i + AHEAD] * width);
        int64_t bits = finite_bits(values[i]);
        if (codes[i] < 0 || bits < 0)
            continue;
        uint64_t mantissa = bits & ((1ll << 52) - 1);
        if (bits >> 52)
            mantissa |= 1ull << 52;
        int64_t place = place_of(bits), sign = sign_of(values[i]);
        uint64_t low = (mantissa & UINT32_MAX) << (place % 32);
        uint64_t high = ((mantissa >> 32) << (place % 32)) + (low >> 32);
        int64_t *row = table + codes[i] * width;
        const int64_t *at = slots + place / 32;
        row[0]++;
        row[at[0]] += sign * (int64_t)(low & UINT32_MAX);
        row[at[1]] += sign * (int64_t)(high & UINT32_MAX);
        row[at[2]] += sign * (int64_t)(high >> 32);
    }
}

static inline uint64_t slot_of(int64_t id, uint64_t factor, int64_t bits)
{
    return (((uint64_t)id ^ ((uint64_t)id >> 32)) * factor) >> (64 - bits);
}

/* Give ids their codes, from row `from` on, in a table of 2^bits slots: an id, and its code plus 1.
 * Rows of nobody are marked before. A new id gets the next code while there are fewer than `most`;
 * then the loop stops, and returns the row, or, if no more are wanted, the id is unknown. */
int64_t tametail_number(const int64_t *ids, int64_t *codes, int64_t from, int64_t size,
                        uint64_t factor, int64_t bits, int64_t *slots, int64_t *count, int64_t most,
                        int64_t more)
{
    const uint64_t mask = (1ull << bits) - 1;
    for (int64_t i = from; i < size; i++) {
        if (i + AHEAD < size)
            SOON(slots + 2 * slot_of(ids[i + AHEAD], factor, bits));
        if (codes[i] == NOBODY)
            continue;
        uint64_t slot = slot_of(ids[i], factor, bits);
        while (slots[2 * slot + 1] && slots[2 * slot] != ids[i])
            slot = (slot + 1) & mask;
        if (!slots[2 * slot + 1]) {
            if (!more) {
                codes[i] = UNKNOWN;
                continue;
            }
            if (*count >= most)
                return i;
            slots[2 * slot] = ids[i];
            slots[2 * slot + 1] = ++*count;
        }
        codes[i] = slots[2 * slot + 1] - 1;
    }
    return size;
}

/* Move the ids of a table to a larger one, which is empty. */
void tametail_renumber(const int64_t *slots, int64_t bits, int64_t *larger, int64_t more,
                       uint64_t factor)
{
    const uint64_t mask = (1ull << more) - 1;
    for (int64_t old = 0; old < 1ll << bits; old++)
        if (slots[2 * old + 1]) {
            uint64_t slot = slot_of(slots[2 * old], factor, more);
            while (larger[2 * slot + 1])
                slot = (slot + 1) & mask;
            larger[2 * slot] = slots[2 * old];
            larger[2 * slot + 1] = slots[2 * old + 1];
        }
}

static inline uint64_t rotated(uint64_t word, int bits) { return word << bits | word >> (64 - bits); }

static inline void sip_round(uint64_t v[4])
{
    v[0] += v[1], v[1] = rotated(v[1], 13) ^ v[0], v[0] = rotated(v[0], 32);
    v[2] += v[3], v[3] = rotated(v[3], 16) ^ v[2];
    v[0] += v[3], v[3] = rotated(v[3], 21) ^ v[0];
    v[2] += v[1], v[1] = rotated(v[1], 17) ^ v[2], v[2] = rotated(v[2], 32);
}

static inline void sip_word(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    sip_round(v);
    v[0] ^= word;
}

/* SipHash-1-3 of a text under a secret key of 128 bits: whoever does not know it cannot choose texts
 * that all lie in one place. Words are read as the processor has them, since nobody else sees them. */
static uint64_t hash_of(const uint8_t *text, int64_t length, const uint64_t *key)
{
    uint64_t v[4] = {key[0] ^ 0x736f6d6570736575ull, key[1] ^ 0x646f72616e646f6dull,
                     key[0] ^ 0x6c7967656e657261ull, key[1] ^ 0x7465646279746573ull};
    uint64_t word;
    for (int64_t left = length; left >= 8; left -= 8, text += 8) {
        memcpy(&word, text, 8);
        sip_word(v, word);
    }
    word = 0;
    memcpy(&word, text, (size_t)(length & 7));
    sip_word(v, word ^ (uint64_t)length << 56);
    v[2] ^= 0xff;
    for (int i = 0; i < 3; i++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* Write the hashes of texts, of which text i is between ends[i] and ends[i + 1]. */
void tametail_hash_texts(const int64_t *ends, const uint8_t *text, int64_t size,
                         const uint64_t *key, uint64_t *hashes)
{
    for (int64_t i = 0; i < size; i++)
        hashes[i] = hash_of(text + ends[i], ends[i + 1] - ends[i], key);
}

/* A slot has half of a hash above a code plus 1; the other half says where it is. */
static inline uint64_t first_slot(uint64_t hash, int64_t bits) { return hash >> (64 - bits); }
static inline uint64_t slot_with(uint64_t hash, int64_t code) { return hash << 32 | (uint64_t)(code + 1); }
static inline int64_t code_in(uint64_t slot) { return (int64_t)(slot & UINT32_MAX) - 1; }

/* As tametail_number, for texts. Known ones lie in `kept`, one after the other, between known[code]
 * and known[code + 1]; two are the same if all of their bytes are, whatever their hashes say. The
 * loop stops, and returns the row, too, where a new text would not fit into `room` bytes. */
int64_t tametail_number_texts(const int64_t *ends, const uint8_t *text, int64_t *codes,
                              int64_t from, int64_t size, const uint64_t *key, int64_t bits,
                              uint64_t *slots, uint64_t *hashes, int64_t *known, uint8_t *kept,
                              int64_t *count, int64_t most, int64_t room, int64_t more)
{
    const uint64_t mask = (1ull << bits) - 1;
    uint64_t hash[AHEAD];
    for (int64_t start = from; start < size; start += AHEAD) {
        int64_t end = start + AHEAD < size ? start + AHEAD : size;
        for (int64_t i = start; i < end; i++) {
            hash[i - start] = hash_of(text + ends[i], ends[i + 1] - ends[i], key);
            SOON(slots + first_slot(hash[i - start], bits));
        }
        for (int64_t i = start; i < end; i++)
            SOON(known + code_in(slots[first_slot(hash[i - start], bits)]) + 1);
        for (int64_t i = start; i < end; i++) {
            int64_t code = code_in(slots[first_slot(hash[i - start], bits)]);
            if (code >= 0)
                SOON(kept + known[code]);
        }
        for (int64_t i = start; i < end; i++) {
            if (codes[i] == NOBODY)
                continue;
            const uint8_t *own = text + ends[i];
            int64_t length = ends[i + 1] - ends[i], code;
            uint64_t slot = first_slot(hash[i - start], bits);
            for (; (code = code_in(slots[slot])) >= 0; slot = (slot + 1) & mask)
                if (slots[slot] == slot_with(hash[i - start], code) &&
                    known[code + 1] - known[code] == length &&
                    !memcmp(kept + known[code], own, (size_t)length))
                    break;
            if (code < 0 && !more) {
                codes[i] = UNKNOWN;
                continue;
            }
            if (code < 0) {
                code = *count;
                if (code >= most || room - known[code] < length)
                    return i;
                memcpy(kept + known[code], own, (size_t)length);
                known[code + 1] = known[code] + length;
                hashes[code] = hash[i - start];
                slots[slot] = slot_with(hash[i - start], code);
                ++*count;
            }
            codes[i] = code;
        }
    }
    return size;
}

/* Fill a larger table, which is empty, with the codes of known texts. */
void tametail_renumber_texts(const uint64_t *hashes, int64_t count, uint64_t *larger, int64_t bits)
{
    const uint64_t mask = (1ull << bits) - 1;
    for (int64_t code = 0; code < count; code++) {
        if (code + AHEAD < count)
            SOON(larger + first_slot(hashes[code + AHEAD], bits));
        uint64_t slot = first_slot(hashes[code], bits);
        while (larger[slot])
            slot = (slot + 1) & mask;
        larger[slot] = slot_with(hashes[code], code);
    }
}
