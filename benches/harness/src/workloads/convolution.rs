//! A convolution with its gradients, and a step of a network of convolutions.

use super::{CallMode, Line, NONE, Workload, WorkloadSettings, zeros};
use workalike::prelude::*;
use workalike_cli_common::random::{integers, normal};

/// The sizes of a convolution, in the order in which lines give them.
const SIZES: [&str; 10] = [
    "batch",
    "channels",
    "height",
    "width",
    "filters",
    "filter_height",
    "filter_width",
    "stride",
    "pad_height",
    "pad_width",
];

/// The extents of the output.
fn output_shape(s: &WorkloadSettings) -> [usize; 4] {
    // Filters larger than the padded input are refused at compile time.
    let along = |extent: &str, filter: &str, pad: &str| {
        let padded = s.n(extent).saturating_add(s.n(pad).saturating_mul(2));
        (padded.saturating_sub(s.n(filter)) / s.n("stride")).saturating_add(1)
    };
    let height = along("height", "filter_height", "pad_height");
    [s.n("batch"), s.n("filters"), height, along("width", "filter_width", "pad_width")]
}

fn conv(s: &WorkloadSettings) -> workalike::Result<Function> {
    let input = ["batch", "channels", "height", "width"].map(|key| s.n(key));
    let filters = ["filters", "channels", "filter_height", "filter_width"].map(|key| s.n(key));
    let x = shared("x", normal(51, &input, 1.0)?);
    let w = shared("w", normal(52, &filters, 0.05)?);
    let (stride, padding) = (s.n("stride"), ["pad_height", "pad_width"].map(|key| (s.n(key), s.n(key))));
    let y = x.conv2d(&w, Conv::default().stride([stride, stride]).padding(padding));
    let squares = || y.sqr().sum(..);
    let (result, shape) = match s.get("role") {
        "input_gradient" => (grad(squares(), [&x])?.swap_remove(0), input),
        "filter_gradient" => (grad(squares(), [&w])?.swap_remove(0), filters),
        "forward_bias_relu" => {
            let b = shared("b", normal(53, &filters[..1], 1.0)?);
            ((y + b.dimshuffle([None, Some(0), None, None])).relu(), output_shape(s))
        }
        _ => (y, output_shape(s)),
    };
    function(NONE).update(shared("y", zeros(&shape)?), result).compile()
}

/// A line of these sizes, checked at those of `checked`.
fn conv_line(role: &'static str, sizes: [&'static str; 10], checked: [&'static str; 10]) -> Line {
    let settings = |sizes: [&'static str; 10]| {
        SIZES.into_iter().zip(sizes).chain([("role", role)]).collect::<Vec<(&'static str, &str)>>()
    };
    let variant = format!("{role} {} {}", sizes[..4].join("x"), sizes[4..7].join("x"));
    Line::new(variant, &settings(sizes), CallMode::Steps).checked(&settings(checked))
}

pub(super) const CONV: Workload = Workload {
    name: "conv",
    about: "a convolution of images, with bias and relu, or a gradient of the sum of its squares",
    settings: &[
        ("batch", "32", "8"),
        ("channels", "64", "64"),
        ("height", "56", "28"),
        ("width", "56", "28"),
        ("filters", "64", "64"),
        ("filter_height", "3", "3"),
        ("filter_width", "3", "3"),
        ("stride", "1", "1"),
        ("pad_height", "1", "1"),
        ("pad_width", "1", "1"),
        ("role", "forward", "forward"),
    ],
    build: conv,
    // A gradient also computes the output, which need not be written to memory.
    least: |s| {
        let float = |keys: &[&str]| keys.iter().map(|key| s.float(key)).product::<f64>();
        let input = float(&["batch", "channels", "height", "width"]);
        let filters = float(&["filters", "channels", "filter_height", "filter_width"]);
        let output = output_shape(s).iter().map(|&extent| extent as f64).product::<f64>();
        let flops = 2.0 * output * float(&["channels", "filter_height", "filter_width"]);
        match s.get("role") {
            "input_gradient" => (4.0 * (2.0 * input + filters), 2.0 * flops),
            "filter_gradient" => (4.0 * (input + 2.0 * filters), 2.0 * flops),
            "forward_bias_relu" => (4.0 * (input + filters + output), flops + 2.0 * output),
            _ => (4.0 * (input + filters + output), flops),
        }
    },
    lines: |large| {
        let (sizes, odd) = match large {
            true => (
                ["32", "64", "56", "56", "64", "3", "3", "1", "1", "1"],
                ["30", "33", "57", "41", "70", "5", "3", "2", "2", "1"],
            ),
            false => (
                ["8", "64", "28", "28", "64", "3", "3", "1", "1", "1"],
                ["7", "33", "29", "21", "35", "5", "3", "2", "2", "1"],
            ),
        };
        let small = ["2", "5", "9", "11", "7", "3", "3", "1", "1", "1"];
        let small_odd = ["3", "5", "11", "8", "7", "5", "3", "2", "2", "1"];
        let roles = ["forward", "forward_bias_relu", "input_gradient", "filter_gradient"];
        let mut lines: Vec<Line> = roles.into_iter().map(|role| conv_line(role, sizes, small)).collect();
        lines.push(conv_line("forward", odd, small_odd).odd());
        lines
    },
};

/// The extents of the square images and of the filters of both convolutions. The output of the second one is
/// pooled to 4x4.
const IMAGE: usize = 28;
const FILTER: usize = 5;
const POOLED: usize = 16;

/// tanh of a convolution, pooled 2x2, and a bias.
fn pooled_layer(x: &Variable, w: &SharedVariable, b: &SharedVariable) -> Variable {
    let pooled = x.conv2d(w, Conv::default()).max_pool([2, 2]);
    (pooled + b.dimshuffle([None, Some(0), None, None])).tanh()
}

fn lenet(s: &WorkloadSettings) -> workalike::Result<Function> {
    let [batch, batches, first, second] = ["batch", "batches", "filters1", "filters2"].map(|key| s.n(key));
    let [hidden, classes] = ["hidden", "classes"].map(|key| s.n(key));
    let data = shared("data", normal(61, &[batches, batch, 1, IMAGE, IMAGE], 1.0)?);
    let labels = integers(62, batches * batch, classes as u64)?.reshaped(&[batches, batch])?;
    let (labels, step) = (shared("labels", labels), shared("step", 0i64));
    let (x, y) = (data.index(idx![&step]), labels.index(idx![&step]));

    let weights = |name: &str, seed, shape: &[usize], scale| {
        Ok::<_, workalike::Error>(shared(name, normal(seed, shape, scale)?))
    };
    let biases = |name: &str, n| Ok::<_, workalike::Error>(shared(name, zeros(&[n])?));
    let (w1, b1) = (weights("w1", 63, &[first, 1, FILTER, FILTER], 0.1)?, biases("b1", first)?);
    let (w2, b2) = (weights("w2", 64, &[second, first, FILTER, FILTER], 0.05)?, biases("b2", second)?);
    let (w3, b3) = (weights("w3", 65, &[POOLED * second, hidden], 0.05)?, biases("b3", hidden)?);
    let (w4, b4) = (weights("w4", 66, &[hidden, classes], 0.05)?, biases("b4", classes)?);

    let images = pooled_layer(&pooled_layer(&x, &w1, &b1), &w2, &b2);
    let features = images.reshape([batch as isize, (POOLED * second) as isize]);
    let p = softmax((features.dot(&w3) + &b3).tanh().dot(&w4) + &b4, -1);
    let cost = categorical_crossentropy(&p, &y).mean(..);
    let parameters = [&w1, &b1, &w2, &b2, &w3, &b3, &w4, &b4];
    let g = grad(&cost, parameters)?;
    let updates = parameters.iter().zip(&g).map(|(p, g)| ((*p).clone(), *p - 0.1 * g));
    function(NONE)
        .output_named("cost", &cost)
        .updates(updates.collect::<Vec<_>>())
        .update(&step, (&step + 1i64) % batches as i64)
        .compile()
}

pub(super) const LENET: Workload = Workload {
    name: "lenet",
    about: "a step of gradient descent of LeNet on a batch of 28x28 images, cut from the data by a counter",
    settings: &[
        ("batch", "500", "64"),
        ("batches", "10", "10"),
        ("filters1", "20", "20"),
        ("filters2", "50", "50"),
        ("hidden", "500", "500"),
        ("classes", "10", "10"),
    ],
    build: lenet,
    least: |s| {
        let [batch, first, second] = ["batch", "filters1", "filters2"].map(|key| s.float(key));
        let [hidden, classes] = ["hidden", "classes"].map(|key| s.float(key));
        let taps = (FILTER * FILTER) as f64;
        let dense = POOLED as f64 * second * hidden + hidden * classes;
        // Filter positions: 24x24, then 8x8 (of 12x12 images). The images get no gradient.
        let (once, again) = (576.0 * first * taps, 64.0 * second * first * taps + dense);
        let weights = (first + second * first) * taps + dense;
        let image = (IMAGE * IMAGE) as f64;
        (4.0 * (2.0 * weights + batch * image), 2.0 * batch * (2.0 * once + 3.0 * again))
    },
    lines: |large| {
        let batch = if large { "500" } else { "64" };
        let small =
            [("batch", "3"), ("batches", "2"), ("filters1", "4"), ("filters2", "6"), ("hidden", "11")];
        let line = |name: String, way| Line::new(name, &[("batch", batch)], way).checked(&small);
        vec![line(format!("B={batch}"), CallMode::Steps), line(format!("call B={batch}"), CallMode::Host)]
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    fn built(workload: &Workload, settings: &[(&str, &str)]) -> Function {
        (workload.build)(&WorkloadSettings::of(workload, false, settings.iter().copied()).unwrap()).unwrap()
    }

    fn get(f: &Function, name: &str) -> Vec<f64> {
        f.shared(name).unwrap().get_value().unwrap().to_f64s()
    }

    fn dot(a: &[f64], b: &[f64]) -> f64 {
        assert_eq!(a.len(), b.len());
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn gradients_of_the_squares_are_twice_the_squares() {
        let sizes = ["2", "3", "7", "8", "4", "5", "3", "2", "2", "1"];
        let of = |role| {
            let settings: Vec<_> = SIZES.into_iter().zip(sizes).chain([("role", role)]).collect();
            let f = built(&CONV, &settings);
            f.call(args![]).unwrap();
            f
        };
        // The convolution is linear in the input and in the filters.
        let y = get(&of("forward"), "y");
        let (input, filter) = (of("input_gradient"), of("filter_gradient"));
        let want = 2.0 * dot(&y, &y);
        for (f, factor) in [(&input, "x"), (&filter, "w")] {
            let got = dot(&get(f, factor), &get(f, "y"));
            assert!((got - want).abs() < 1e-4 * want, "{got} of {factor}, not {want}");
        }
        let rectified = of("forward_bias_relu");
        let (with_bias, b) = (get(&rectified, "y"), get(&rectified, "b"));
        assert_eq!((y.len(), b.len()), (2 * 4 * 4 * 4, 4));
        for (at, (y, rectified)) in y.iter().zip(with_bias).enumerate() {
            assert!(((y + b[at / 16 % 4]).max(0.0) - rectified).abs() < 1e-5);
        }
    }

    #[test]
    fn lenet_learns_batch_after_batch() {
        let small = [("batch", "3"), ("filters1", "3"), ("filters2", "4"), ("hidden", "9"), ("classes", "3")];
        let with = |batches| built(&LENET, &[&small[..], &[("batches", batches)]].concat());
        let cost = |f: &Function| f.call(args![]).unwrap()[0].item::<f32>().unwrap();
        let one = with("1");
        let costs: Vec<f32> = (0..8).map(|_| cost(&one)).collect();
        assert!(costs[7] < costs[0], "{costs:?}");
        let two = with("2");
        let steps: Vec<f64> = (0..3).map(|_| (cost(&two), get(&two, "step")[0]).1).collect();
        assert_eq!(steps, [1.0, 0.0, 1.0]);
    }
}
