//! Scratch: prints fused Programs of some workloads.
use workalike::prelude::*;
use workalike::Result;
use workalike::kernels::print::Dialect;
use workalike_suite::snapshot::Paper;
fn z(shape: &[usize]) -> Value { Value::zeros(DType::F32, shape).unwrap() }
const NONE: [&Variable; 0] = [];
fn logreg() -> Result<Function> {
    let (n, d) = (400, 784);
    let (x, y) = (shared("x", z(&[n, d])), shared("y", z(&[n])));
    let (w, b) = (shared("w", z(&[d])), shared("b", 0f32));
    let p = (x.dot(&w) + &b).sigmoid();
    let entropy = -&y * p.log() - (1.0 - &y) * (1.0 - &p).log();
    let cost = entropy.mean() + 0.01 * w.sqr().sum(..);
    let g = grad(&cost, [&w, &b])?;
    let f = function(NONE).output(p.greater(0.5)).output(&entropy);
    f.update(&w, &w - 0.1 * &g[0]).update(&b, &b - 0.1 * &g[1]).compile()
}
fn mlp(batch: usize) -> Result<Function> {
    let (x, y) = (shared("x", z(&[batch, 784])), shared("y", Value::zeros(DType::I64, &[batch])?));
    let (w1, b1) = (shared("w1", z(&[784, 500])), shared("b1", z(&[500])));
    let (w2, b2) = (shared("w2", z(&[500, 10])), shared("b2", z(&[10])));
    let p = softmax((x.dot(&w1) + &b1).tanh().dot(&w2) + &b2, -1);
    let penalty = w1.sqr().sum(..) + w2.sqr().sum(..);
    let cost = categorical_crossentropy(&p, &y).mean() + 1e-4 * penalty;
    let parameters = [&w1, &b1, &w2, &b2];
    let g = grad(&cost, parameters)?;
    let updates = parameters.iter().zip(&g).map(|(p, g)| ((*p).clone(), *p - 0.01 * g));
    function(NONE).output(&cost).updates(updates.collect::<Vec<_>>()).compile()
}
fn lif(n: usize) -> Result<Function> {
    let (v, r, xx) = (shared("v", z(&[n])), shared("r", z(&[n])), shared("xx", z(&[2])));
    let (enc, dec, bias, inp) = (shared("enc", z(&[n, 2])), shared("dec", z(&[2, n])), shared("bias", z(&[n])), shared("inp", z(&[2])));
    let (dt, trc, trf, ts) = (1e-3, 0.02, 0.002, 0.1);
    let j = enc.dot(&xx + &inp) + &bias;
    let de = (dt - &r).maximum(0.0).minimum(dt);
    let vn = &v - (&j - &v) * (&de * (-1.0 / trc)).expm1();
    let sp = vn.greater(1.0).cast(DType::F32) / dt;
    let t = dt + trc * (-(&vn - 1.0) / (&j - 1.0)).log1p();
    let spiked = sp.greater(0.0);
    function(NONE).update(&v, where_(&spiked, 0.0, vn.maximum(0.0))).update(&r, where_(&spiked, trf + t, &r - dt)).update(&xx, &xx + (dt / ts) * (dec.dot(&sp) - &xx)).compile()
}
fn rnn() -> Result<Function> {
    let (t, b, h) = (4usize, 32, 256);
    let x = shared("x", z(&[t, b, h])); let (wx, wh) = (shared("wx", z(&[h, h])), shared("wh", z(&[h, h])));
    let xw = x.reshape([(t * b) as isize, h as isize]).dot(&wx).reshape([t as isize, b as isize, h as isize]);
    let mut s = constant(z(&[b, h]));
    let mut f = function(NONE);
    for i in 0..t { s = (xw.index(idx![i as isize]) + s.dot(&wh)).tanh(); f = f.output(&s); }
    f.compile()
}
fn rows() -> Result<Function> {
    let x = matrix::<f32>("x");
    let m = x.max([1]).expand_dims(1); let e = (&x - m).exp(); let s = &e / e.sum([1]).expand_dims(1);
    let mu = x.mean_axes([1]).expand_dims(1); let c = &x - mu; let var = c.sqr().mean_axes([1]).expand_dims(1);
    function([&x]).output(&s).output(&c / (var + 1e-5).sqrt()).compile()
}
fn main() -> Result<()> {
    for (name, f, args) in [("logreg", logreg(), args![]), ("mlp", mlp(20), args![]), ("lif", lif(1000), args![]), ("rnn", rnn(), args![]), ("rows", rows(), args![z(&[64, 1000])])] {
        let f = match f { Ok(f) => f, Err(e) => { println!("{name}: {e}"); continue } };
        let mut sim = f.optimize(Paper { dialect: Dialect::CudaCpp, cpu: false })?;
        sim.call(args)?;
        println!("== {name}\n{}", sim.explain());
        if std::env::args().nth(1).as_deref() == Some(name) { for s in sim.sources() { println!("{s}"); } }
    }
    Ok(())
}
