/* Magnitudes are the bits of floats without the sign, which are in the order of the floats, NaN above all. A
   positive zero is felt as the smallest number, since it makes a negative zero of the table positive; a
   negative one changes nothing. */
DEVICE_FN u32 magnitude(f32 x) { return FLOAT_BITS(x) & 0x7fffffffu; }
DEVICE_FN u32 felt(f32 x) { return FLOAT_BITS(x) == 0 ? 1 : magnitude(x); }
DEVICE_FN u32 first(u32 a, u32 b) { return a < b ? a : b; }
DEVICE_FN u32 most(u32 a, u32 b) { return a > b ? a : b; }
DEVICE_FN u64 total(u64 a, u64 b) { return a + b; }

/* x in the fixed point of a sum whose largest magnitude is `most`. If that is infinite, infinities are
   counted, those below zero in the upper half. */
DEVICE_FN u64 fixed(f32 x, u32 most, u32 spare)
{
    const u32 size = magnitude(x), below = FLOAT_BITS(x) >> 31;
    if (most >= 0x7f800000u) return size < 0x7f800000u ? (u64)0 : (u64)1 << (below ? 32 : 0);
    const u32 top = most >> 23 ? most >> 23 : 1u, own = size >> 23 ? size >> 23 : 1u;
    u64 whole = (size & 0x7fffffu) | (size >> 23 ? 0x800000u : 0u);
    const int shift = (int)spare - (int)(top - own);
    whole = shift >= 0 ? whole << shift : shift < -24 ? (u64)0 : (whole + ((u64)1 << (-shift - 1))) >> -shift;
    return below ? (u64)0 - whole : whole;
}

DEVICE_FN f32 sum_of(u64 all, u32 most, u32 spare)
{
    if (most >= 0x7f800000u) {
        const int above = (u32)all != 0, below = (u32)(all >> 32) != 0;
        const int is_nan = most > 0x7f800000u || (above && below);
        return BITS_FLOAT(is_nan ? 0x7fc00000u : below ? 0xff800000u : 0x7f800000u);
    }
    const int top = most >> 23 ? most >> 23 : 1;
    return LDEXP((f32)(i64)all, top - 150 - (int)spare);
}
