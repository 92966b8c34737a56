"""Draws the pictures of docs/architecture.md and README.md into docs/pictures.

    python3 tools/drawings.py            (writes the pictures)
    python3 tools/drawings.py --check    (fails if a picture is stale, or if a module of the table does not exist)

The pictures have a background of their own, so that they can be read in light and in dark mode. The same
script gives the same bytes.
"""

import sys
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"

# The modules that the pictures name. After a rename, change the path here and run the script again.
MODULES = {
    "graph": "src/graph",
    "op": "src/op",
    "ops": "src/ops",
    "lower": "src/lower",
    "grad": "src/grad",
    "rewrite": "src/rewrite",
    "function": "src/function",
    "format": "src/format",
    "custom": "src/custom",
    "shapes": "src/graph/shapes.rs",
    "engine": "src/engine",
    "simulator": "src/engine/simulator",
    "executor": "src/engine/executor",
    "run": "src/engine/run",
    "verify": "src/engine/verify.rs",
    "fuse": "src/engine/fuse",
    "inplace": "src/engine/inplace.rs",
    "memory": "src/engine/memory",
    "plan_cache": "src/engine/plan/plan_cache.rs",
    "recorded": "src/engine/record/recorded.rs",
    "segment": "src/engine/record/segment.rs",
    "outputs": "src/engine/record/results.rs",
    "status": "src/engine/compile/status.rs",
    "print": "kernels/src/print",
    "device": "simulators/device",
}

# Fill and border of a box, by what the box is.
PORTABLE, DEVICE = ("#dbe9fb", "#3f6fb5"), ("#fde6cf", "#c0702a")
KERNELS, PROGRAMS = ("#e0f0dc", "#4c8a3f"), ("#eceff3", "#7a8594")
DATA = ("#ffffff", "#5b6673")
INK, FAINT, PAPER = "#1c2430", "#5b6673", "#fbfcfe"
SANS = "Helvetica, Arial, sans-serif"
MONO = "Menlo, Consolas, 'DejaVu Sans Mono', monospace"


def path(module, base=""):
    """The path of a module of the table, relative to `base`; folders end with a slash."""
    whole = MODULES[module]
    short = whole.removeprefix(base + "/") if base else whole
    return short if short.endswith(".rs") else short + "/"


class Drawing:
    """Elements of a picture; coordinates are pixels from the top left."""

    def __init__(self, width, height, title):
        self.size, self.title, self.elements = (width, height), title, []

    def text(self, x, y, text, size=13, mono=False, bold=False, color=INK, anchor="middle"):
        family, weight = (MONO if mono else SANS), ' font-weight="bold"' if bold else ""
        self.elements.append(
            f'<text x="{x}" y="{y}" font-family="{family}" font-size="{size}"{weight} fill="{color}" '
            f'text-anchor="{anchor}">{escape(text)}</text>'
        )

    def frame(self, x, y, w, h, style, dashed=False, radius=6):
        fill, border = style
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self.elements.append(
            f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="{radius}" fill="{fill}" stroke="{border}" '
            f'stroke-width="1.4"{dash}/>'
        )

    def box(self, x, y, w, h, style, *lines):
        """A box with centred lines; a line that begins with a backquote is the name of a module."""
        self.frame(x, y, w, h, style)
        first = y + h / 2 - 8.5 * (len(lines) - 1) + 4.5
        for at, line in enumerate(lines):
            mono = line.startswith("`")
            size = 12 if mono else 13
            self.text(x + w / 2, first + 17 * at, line.lstrip("`*"), size, mono, line.startswith("*"))

    def arrow(self, *points, both=False, dashed=False, color=FAINT):
        """A line through points with a head at its end, or at both ends."""
        line = " ".join(f"{x},{y}" for x, y in points)
        marks = ' marker-end="url(#head)"' + (' marker-start="url(#head)"' if both else "")
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self.elements.append(
            f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="1.6"{dash}{marks}/>'
        )

    def svg(self):
        width, height = self.size
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" role="img">\n<title>{escape(self.title)}</title>\n'
            '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" '
            f'orient="auto-start-reverse"><path d="M0,0.8 L9.5,5 L0,9.2 z" fill="{FAINT}"/></marker></defs>\n'
            f'<rect width="{width}" height="{height}" rx="8" fill="{PAPER}"/>\n'
        )
        return head + "\n".join(self.elements) + "\n</svg>\n"


def crates():
    """The crates and the folders of `src`, with arrows to what each may name."""
    d = Drawing(880, 706, "The crates and the folders of src; an arrow points to what a folder may name")
    d.frame(20, 18, 840, 62, PROGRAMS)
    d.text(440, 40, "programs and tests", 13, bold=True)
    for at, name in enumerate(("cli/", "python/", "examples/", "tests/", "tests/suite/", "benches/", "fuzz/")):
        d.text(98 + 114 * at, 64, name, 12, mono=True)
    d.arrow((440, 80), (440, 106))

    d.frame(20, 108, 840, 400, DATA)
    d.text(36, 130, "workalike", 13, bold=True, anchor="start")
    d.text(122, 130, "src/", 12, mono=True, anchor="start")

    d.frame(36, 142, 520, 350, PORTABLE)
    d.text(52, 164, "portable half", 12, color=FAINT, anchor="start")
    white = ("#ffffff", PORTABLE[1])
    d.box(60, 180, 150, 44, white, "`" + path("format", "src"), "files")
    d.box(380, 180, 150, 44, white, "`" + path("function", "src"), "Function, Bundle")
    d.arrow((212, 202), (378, 202), both=True)
    d.box(60, 262, 140, 44, white, "`optimizers.rs, ..", "losses, layers")
    d.box(226, 262, 138, 44, white, "`" + path("grad", "src"), "gradients")
    d.box(392, 262, 138, 44, white, "`" + path("rewrite", "src"), "passes, rules")
    d.arrow((455, 224), (455, 260))
    d.arrow((364, 284), (390, 284))
    d.box(140, 344, 310, 44, white, "`" + path("ops", "src"), "one file per op family, NAME/lower.rs")
    d.arrow((160, 306), (160, 342))
    d.arrow((295, 306), (295, 342))
    d.arrow((430, 306), (430, 342))
    d.arrow((60, 202), (46, 202), (46, 366), (138, 366))
    d.arrow((295, 388), (295, 422))
    d.frame(60, 424, 470, 54, white)
    for at, (module, what) in enumerate((("graph", "FunctionGraph"), ("op", "trait Op"), ("lower", "Program, Nests"))):
        x = (125, 290, 445)[at]
        d.text(x, 446, path(module, "src"), 12, mono=True)
        d.text(x, 465, what)
    d.arrow((188, 446), (252, 446), both=True)
    d.arrow((324, 446), (404, 446), both=True)

    d.frame(600, 142, 244, 350, DEVICE)
    d.text(616, 164, "device half", 12, color=FAINT, anchor="start")
    white = ("#ffffff", DEVICE[1])
    d.box(620, 180, 204, 44, white, "`selector.rs, " + path("custom", "src"), "device by name, user C")
    d.frame(620, 262, 204, 216, white)
    d.text(722, 284, path("engine", "src"), 12, mono=True, bold=True)
    d.text(722, 302, "the engine", 13)
    inner = MODULES["engine"]
    rows = (("simulator",), ("executor", "contexts"), ("run",), ("fuse", "inplace"), ("memory",), ("verify",))
    about = {
        "simulator": "Simulator, sync",
        "executor": "several devices",
        "run": "plans and runs",
        "fuse": "fusion",
        "memory": "memory plan",
        "verify": "checks a device",
    }
    for at, row in enumerate(rows):
        y = 326 + 26 * at
        d.text(632, y, path(row[0], inner), 12, mono=True, anchor="start")
        d.text(814, y, about[row[0]], 12, anchor="end", color=FAINT)
    d.arrow((722, 224), (722, 260))
    d.arrow((530, 212), (575, 212), (575, 284), (618, 284), both=True)
    d.arrow((620, 450), (532, 450))

    d.arrow((684, 508), (684, 534))
    d.text(694, 526, "by feature", 12, color=FAINT, anchor="start")
    for at, name in enumerate(("simulators/cuda/", "simulators/opencl/", "simulators/host/")):
        d.box(540 - 174 * at + 150, 536, 164, 34, DEVICE, "`" + name)
        x = 540 - 174 * at + 232
        d.arrow((x, 570), (x, 590))
    d.box(240, 592, 614, 40, DEVICE, "`" + path("device"), "Device, argument checks, host memory, kernel cache")
    d.arrow((547, 632), (547, 650))
    d.arrow((290, 508), (290, 590))
    about = "dtypes, the table of elementwise ops, Nests, interpreter, schedules, C printers"
    d.box(20, 652, 840, 40, KERNELS, "`kernels/", about)
    d.arrow((130, 508), (130, 650))
    return d


def pipeline():
    """From an expression to results."""
    d = Drawing(880, 372, "From an expression to results: the portable half above, the device half below")
    d.frame(16, 16, 848, 122, PORTABLE)
    d.text(32, 36, "portable: the same on every machine", 12, color=FAINT, anchor="start")
    d.frame(16, 204, 848, 152, DEVICE)
    d.text(118, 224, "device: one Program for each signature", 12, color=FAINT, anchor="start")

    top = [
        (36, 132, ("*expression", "`Variable"), "graph"),
        (244, 148, ("*FunctionGraph", "passes, verifier"), "rewrite"),
        (468, 132, ("*Function", "inputs, updates"), "function"),
        (700, 132, ("*file", "`.walk"), "format"),
    ]
    for x, w, lines, module in top:
        d.box(x, 50, w, 52, DATA, *lines)
        d.text(x + w / 2, 122, path(module), 12, mono=True)
    for x0, x1, label in ((168, 244, "compile"), (392, 468, "")):
        d.arrow((x0 + 2, 76), (x1 - 2, 76))
        d.text((x0 + x1) / 2, 68, label, 12)
    d.arrow((602, 76), (698, 76), both=True)
    d.text(651, 68, "save, load", 12)

    d.arrow((534, 128), (534, 172), (102, 172), (102, 238))
    d.text(318, 164, "optimize(backend)", 12)
    d.arrow((762, 238), (762, 172), (560, 172), (560, 128), both=True, dashed=True)
    d.text(574, 164, "values of shared variables, by sync", 12, color=FAINT, anchor="start")
    low = [
        (36, 132, ("*Program", "unfused Nests"), ("lower",)),
        (206, 132, ("*Program", "fused, in place"), ("fuse", "inplace", "memory")),
        (376, 132, ("*Module", "kernels"), ("print",)),
        (546, 132, ("*Recordings", "of Segments"), ("recorded", "segment")),
        (716, 132, ("*Device", "States, results"), ("device",)),
    ]
    for at, (x, w, lines, modules) in enumerate(low):
        d.box(x, 240, w, 52, DATA, *lines)
        for row, module in enumerate(modules):
            d.text(x + w / 2, 311 + 16 * row, path(module), 10, mono=True)
        if at:
            d.arrow((x - 36, 274), (x - 2, 274))
    for x, label in ((187, "fuse"), (357, "print"), (527, "record"), (697, "replay")):
        d.text(x, 266, label, 10)
    return d


def call():
    """The first call of a signature, and later calls."""
    d = Drawing(880, 560, "The life of a call: the first call of a signature plans and records, later calls replay")
    d.text(210, 34, "every call", 13, bold=True)
    d.text(640, 34, "the first call of a signature", 13, bold=True)
    d.frame(460, 46, 400, 430, DEVICE)

    def step(y, title, names, x=40, w=340, style=DATA):
        d.box(x, y, w, 46, style, "*" + title, "`" + names)

    step(48, "Simulator::call", path("simulator"))
    d.arrow((210, 94), (210, 116))
    step(118, "is this signature planned?", path("plan_cache"))
    d.arrow((380, 141), (420, 141), (420, 85), (478, 85))
    d.text(392, 112, "no", 12, color=FAINT, anchor="start")
    engine = MODULES["engine"]
    first = [
        ("infer shapes", path("shapes")),
        ("lower to a Program", path("lower")),
        ("fuse, update in place, plan memory", f"{path('fuse')}, {path('inplace', engine)}, {path('memory', engine)}"),
        ("compile kernels, or load them from disk", "Device::compile, " + path("print")),
        ("make room in the arena", path("run")),
        ("record Segments at their addresses", path("recorded")),
    ]
    for at, (title, names) in enumerate(first):
        y = 62 + 68 * at
        step(y, title, names, 480, 360, ("#ffffff", DEVICE[1]))
        if at:
            d.arrow((660, y - 22), (660, y - 2))
    d.arrow((478, 425), (420, 425), (420, 355), (382, 355))
    d.text(388, 400, "kept", 12, color=FAINT, anchor="start")
    d.arrow((210, 164), (210, 330))
    d.text(222, 250, "yes: planned and recorded", 12, color=FAINT, anchor="start")
    step(332, "copy inputs in", path("recorded"))
    d.arrow((210, 378), (210, 400))
    step(402, "replay Segments, run host nodes", path("segment"))
    d.arrow((210, 448), (210, 470))
    step(472, "check status words, copy outputs out", path("outputs") + ", " + path("status").rsplit("/", 1)[1])
    d.text(440, 544, "A signature is the extents of the inputs. The cache of Programs is bounded.", 12, color=FAINT)
    return d


def overview():
    """The picture of the README."""
    d = Drawing(880, 120, "A graph becomes a Function, a Function becomes Nests, and a Nest becomes a kernel")
    boxes = [
        (16, 150, PORTABLE, ("*graph", "symbolic, gradients")),
        (250, 150, PORTABLE, ("*Function", "portable; in a file")),
        (484, 150, DEVICE, ("*Nest", "fused loops")),
        (718, 146, DEVICE, ("*kernel", "one per device")),
    ]
    for x, w, style, lines in boxes:
        d.box(x, 28, w, 58, style, *lines)
    for x, label in ((208, "compile"), (442, "optimize"), (676, "print")):
        d.arrow((x - 40, 57), (x + 40, 57))
        d.text(x, 48, label, 12)
    d.text(208, 108, "on any machine, without a device", 12, color=FAINT)
    d.text(676, 108, "for the device and the shapes of a call", 12, color=FAINT)
    return d


ALL = {"crates": crates, "pipeline": pipeline, "call": call, "overview": overview}


def main():
    missing = [place for place in MODULES.values() if not (ROOT / place).exists()]
    if missing:
        sys.exit(f"the table of modules in tools/drawings.py names {', '.join(missing)}, which do not exist")
    stale = []
    for name, draw in ALL.items():
        file, text = PICTURES / f"{name}.svg", draw().svg()
        if "--check" not in sys.argv:
            file.write_text(text)
        elif not file.exists() or file.read_text() != text:
            stale.append(file.name)
    if stale:
        sys.exit(f"{', '.join(stale)}: stale; run python3 tools/drawings.py")


if __name__ == "__main__":
    main()
