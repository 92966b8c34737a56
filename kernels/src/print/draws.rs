//! Draws by rejection or search, as functions of both device languages: the counterpart of
//! `ops/rejection_sampling.rs`, line by line.

/// Name and text of each function, before its uses.
pub(super) const FUNCTIONS: [(&str, &str); 7] = [
    ("draw_wide", WIDE),
    ("draw_narrow", NARROW),
    ("stirling_tail", STIRLING_TAIL),
    ("draw_log_gamma_f64", LOG_GAMMA),
    ("draw_poisson_f64", POISSON),
    ("draw_rarer", RARER),
    ("draw_binomial_f64", BINOMIAL),
];

const WIDE: &str = "$fn f64 draw_wide(u32 low, u32 high) {
    return ((f64)(((u64)low | (u64)high << 32) >> 12) + 0.5) * 0x1p-52;
}
";

const NARROW: &str = "$fn f64 draw_narrow(u32 word) {
    return ((f64)word + 0.5) * 0x1p-32;
}
";

const LOG_GAMMA: &str = "$fn f64 draw_log_gamma_f64(u64 key, u64 counter, f64 shape) {
    if (!(shape > 0.0) || isinf(shape)) return log(shape);
    const f64 d = (shape < 1.0 ? shape + 1.0 : shape) - 1.0 / 3.0;
    const f64 c = 1.0 / (3.0 * sqrt(d));
    f64 result = log(d);
    u32 w[4];
    for (u32 trial = 1u; trial <= 64u; ++trial) {
        philox_block(key, counter, trial, 1u, w);
        const f64 x = sqrt(-2.0 * log(draw_wide(w[0], w[1]))) * cos(6.283185307179586 * draw_narrow(w[2]));
        const f64 root = 1.0 + c * x;
        if (root <= 0.0) continue;
        const f64 log_v = 3.0 * log(root);
        if (log(draw_narrow(w[3])) < 0.5 * x * x + d - d * root * root * root + d * log_v) {
            result += log_v;
            break;
        }
    }
    if (shape < 1.0) {
        philox_block(key, counter, 0u, 1u, w);
        result += log(draw_wide(w[0], w[1])) / shape;
    }
    return result;
}
";

const STIRLING_TAIL: &str = "$fn f64 stirling_tail(f64 k) {
    const f64 n = k + 1.0;
    if (k < 10.0) {
        f64 factorial = 1.0;
        for (f64 i = 2.0; i <= k; i += 1.0) factorial *= i;
        return log(factorial) - (k + 0.5) * log(n) + n - 0.9189385332046727;
    }
    const f64 s = 1.0 / (n * n);
    return (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - s / 1680.0) * s) * s) / n;
}
";

const POISSON: &str = "$fn f64 draw_poisson_f64(u64 key, u64 counter, f64 mean) {
    if (!(mean >= 0.0)) return log(-1.0);
    u32 w[4];
    if (mean < 10.0) {
        philox_block(key, counter, 0u, 1u, w);
        const f64 u = draw_wide(w[0], w[1]);
        f64 k = 0.0, p = exp(-mean), below = p;
        while (u > below) {
            k += 1.0;
            p *= mean / k;
            if (below + p == below) break;
            below += p;
        }
        return k;
    }
    if (isinf(mean)) return mean;
    const f64 b = 0.931 + 2.53 * sqrt(mean);
    const f64 a = -0.059 + 0.02483 * b;
    const f64 inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
    const f64 sure = 0.9277 - 3.6224 / (b - 2.0);
    for (u32 trial = 1u; trial <= 64u; ++trial) {
        philox_block(key, counter, trial, 1u, w);
        const f64 u = draw_wide(w[0], w[1]) - 0.5, v = draw_narrow(w[2]);
        const f64 edge = 0.5 - fabs(u);
        const f64 k = floor((2.0 * a / edge + b) * u + mean + 0.43);
        if (edge >= 0.07 && v <= sure) return k;
        if (k < 0.0 || (edge < 0.013 && v > edge)) continue;
        const f64 n = k + 1.0;
        const f64 density = k * log(mean / n) - 0.5 * log(6.283185307179586 * n) + (n - mean) - stirling_tail(k);
        if (log(v * inverse_alpha / (a / (edge * edge) + b)) <= density) return k;
    }
    return floor(mean);
}
";

const RARER: &str = "$fn f64 draw_rarer(u64 key, u64 counter, f64 n, f64 p) {
    const f64 odds = p / (1.0 - p);
    u32 w[4];
    if (n * p < 10.0) {
        philox_block(key, counter, 0u, 1u, w);
        const f64 u = draw_wide(w[0], w[1]);
        f64 k = 0.0, f = exp(n * log1p(-p)), below = f;
        while (u > below && k < n) {
            f *= odds * (n - k) / (k + 1.0);
            k += 1.0;
            if (below + f == below) break;
            below += f;
        }
        return k;
    }
    const f64 deviation = sqrt(n * p * (1.0 - p));
    const f64 b = 1.15 + 2.53 * deviation;
    const f64 a = -0.0873 + 0.0248 * b + 0.01 * p;
    const f64 sure = 0.92 - 4.2 / b;
    const f64 alpha = (2.83 + 5.1 / b) * deviation;
    const f64 mode = floor((n + 1.0) * p);
    const f64 at_mode = (mode + 0.5) * log((mode + 1.0) / (odds * (n - mode + 1.0)))
        + stirling_tail(mode) + stirling_tail(n - mode);
    for (u32 trial = 1u; trial <= 64u; ++trial) {
        philox_block(key, counter, trial, 1u, w);
        const f64 u = draw_wide(w[0], w[1]) - 0.5, v = draw_narrow(w[2]);
        const f64 edge = 0.5 - fabs(u);
        const f64 k = floor((2.0 * a / edge + b) * u + n * p + 0.5);
        if (k < 0.0 || k > n) continue;
        if (edge >= 0.07 && v <= sure) return k;
        const f64 rest = n - k + 1.0;
        const f64 density = at_mode + (n + 1.0) * log((n - mode + 1.0) / rest)
            + (k + 0.5) * log(odds * rest / (k + 1.0)) - stirling_tail(k) - stirling_tail(n - k);
        if (log(v * alpha / (a / (edge * edge) + b)) <= density) return k;
    }
    return mode;
}
";

const BINOMIAL: &str = "$fn f64 draw_binomial_f64(u64 key, u64 counter, f64 n, f64 p) {
    if (!(n >= 0.0) || !(p >= 0.0 && p <= 1.0)) return log(-1.0);
    const f64 k = draw_rarer(key, counter, n, p > 0.5 ? 1.0 - p : p);
    return p > 0.5 ? n - k : k;
}
";
