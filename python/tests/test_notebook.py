"""The notebook of the examples: its cells run, and it is stored with the outputs of a run."""

import base64
import json
import re
from pathlib import Path

import numpy as np
import pytest

NOTEBOOK = Path(__file__).parent.parent / "examples" / "tour.ipynb"
TEXT = NOTEBOOK.read_text(encoding="utf-8")
CELLS = json.loads(TEXT)["cells"]
CODE = [cell for cell in CELLS if cell["cell_type"] == "code"]


def source(cell):
    text = cell["source"]
    return text if isinstance(text, str) else "".join(text)


def draws(cell):
    return "plt.show()" in source(cell)


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """The variables after a run of all cells."""
    pytest.importorskip("matplotlib").use("Agg")
    import matplotlib.pyplot as plt

    shown = []

    def show():
        for number in plt.get_fignums():
            plt.figure(number).canvas.draw()
            shown.append(number)
        plt.close("all")

    space = {"__name__": "__main__"}
    with pytest.MonkeyPatch.context() as patch, plt.rc_context():
        patch.chdir(tmp_path_factory.mktemp("notebook"))
        patch.setattr(plt, "show", show)
        for cell in CODE:
            exec(compile(source(cell), f"{NOTEBOOK.name}, cell {cell['id']}", "exec"), space)
    assert len(shown) == sum(map(draws, CODE))
    return space


def test_the_gradient_is_right(names):
    at, slope = np.array([0.5, 1.0, 1.5]), names["out"]["slope"]
    f = names["f"]
    differences = [(f(at + step)["value"] - f(at - step)["value"]) / 2e-6 for step in 1e-6 * np.eye(3)]
    assert np.allclose(slope, differences, rtol=1e-5)
    assert names["out"]["value"] == pytest.approx(81.5) and not f(np.ones(3))["slope"].any()


def test_the_network_learns(names):
    costs = names["costs"]
    assert costs.shape == (800,) and np.isfinite(costs).all()
    assert costs[-50:].mean() < 0.1 * costs[:50].mean()
    assert names["accuracy"] > 0.95 and names["loaded_accuracy"] > 0.95
    assert names["regions"].min() < 0.05 and names["regions"].max() > 0.95


def test_files_and_pickles_answer_alike(names):
    points = names["test_points"]
    learned = names["sim"]["predict"](points)
    for copy in (names["predict"], names["loaded"]["predict"], names["there"]):
        assert np.allclose(copy(points), learned, atol=1e-3)


def test_the_simulation_has_a_pattern(names):
    frames, patterns = names["frames"], names["patterns"]
    assert frames.shape == (4, 128, 128) and len(patterns) == 3
    for field in [*frames, *patterns.values()]:
        assert np.isfinite(field).all() and field.min() > -1e-3 and field.max() < 1
        assert field.std() > 0.03
    # The spots multiply.
    covered = (frames > 0.2).mean(axis=(1, 2))
    assert (np.diff(covered) > 0).all() and covered[-1] > 1.5 * covered[0]
    assert np.array_equal(names["v"].get_value(), patterns["coral"])


def test_it_is_of_format_4():
    notebook = json.loads(TEXT)
    assert set(notebook) == {"cells", "metadata", "nbformat", "nbformat_minor"}
    assert notebook["nbformat"] == 4 and notebook["nbformat_minor"] == 5
    assert notebook["metadata"]["kernelspec"] == {"display_name": "Python 3", "language": "python", "name": "python3"}
    assert notebook["metadata"]["language_info"] == {"name": "python"}
    for cell in CELLS:
        common = {"cell_type", "id", "metadata", "source"}
        assert set(cell) == common | ({"execution_count", "outputs"} if cell["cell_type"] == "code" else set())
        assert cell["cell_type"] in ("code", "markdown") and cell["metadata"] == {}
        assert re.fullmatch("[a-zA-Z0-9_-]{1,64}", cell["id"]) and source(cell).strip()
    assert len({cell["id"] for cell in CELLS}) == len(CELLS)


def test_it_has_the_outputs_of_one_run():
    assert [cell["execution_count"] for cell in CODE] == list(range(1, len(CODE) + 1))
    keys = {
        "stream": {"output_type", "name", "text"},
        "display_data": {"output_type", "data", "metadata"},
    }
    for cell in CODE:
        pictures = []
        for output in cell["outputs"]:
            # Neither tracebacks nor warnings, which come by `stderr`.
            assert set(output) == keys[output["output_type"]]
            assert output.get("name", "stdout") == "stdout"
            pictures += [output["data"]["image/png"]] if "data" in output else []
        assert cell["outputs"] and len(pictures) == draws(cell)
        assert all(base64.b64decode(picture).startswith(b"\x89PNG\r\n") for picture in pictures)
    assert sum(map(draws, CODE)) >= 3


def test_it_is_small_and_of_no_machine():
    assert len(TEXT.encode()) < 300_000
    words = re.sub(r'"image/png": "[^"]*"', "", TEXT)
    assert len(words) < 30_000
    assert not re.search(r"/(home|tmp|root|work|usr|Users)/|\\\\Users|Warning|Traceback", words)


def test_its_links_lead_somewhere():
    links = re.findall(r"\]\(([^)#]+)", "\n".join(source(cell) for cell in CELLS if cell["cell_type"] == "markdown"))
    assert len(links) >= 5
    for link in links:
        assert (NOTEBOOK.parent / link).is_file(), link
