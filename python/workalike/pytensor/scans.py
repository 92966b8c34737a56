"""PyTensor's `Scan`, as a loop on the device.

The buffers that go into a Scan are initial values followed by room for results. A result here is the history, cut to
the length of its buffer. A mit-mot, what the gradient of a Scan is made of, reads and writes one buffer at several
distances: reads of what an earlier iteration wrote are taps of that result, other reads are sequences.
"""

import workalike as wa
from workalike._workalike import scan as _scan

from .convert import as_declared, refused, registered


class _Arguments:
    """The inputs of a Scan, cut to the lists that `op.info` describes."""

    def __init__(self, op, inputs):
        info, given = op.info, iter(inputs)

        def take(count):
            return [next(given) for _ in range(count)]

        self.info = info
        # Taps of a mit-mot, counted from the first row that it reads.
        first = [min(taps) for taps in info.mit_mot_in_slices]
        self.reads = [[tap - at for tap in taps] for taps, at in zip(info.mit_mot_in_slices, first)]
        self.writes = [[tap - at for tap in taps] for taps, at in zip(info.mit_mot_out_slices, first)]
        self.steps = next(given)
        self.sequences = take(info.n_seqs)
        self.mit_mot = take(len(info.mit_mot_in_slices))
        self.mit_sot = take(len(info.mit_sot_in_slices))
        self.sit_sot = take(len(info.sit_sot_in_slices))
        untraced = getattr(info, "n_untraced_sit_sot", None)
        self.untraced = take(info.n_shared_outs if untraced is None else untraced)
        self.nit_sot = take(info.n_nit_sot)
        self.others = list(given)


class _Recurrence:
    """A value that comes back: its initial values, taps, and which result of the body it is."""

    def __init__(self, initial, taps, result):
        self.initial, self.taps, self.result = initial, taps, result


class _Body:
    """The loop: what its body gets and in which order it gives results."""

    def __init__(self, op, node, given, context):
        self.op, self.given, self.context = op, given, context
        self.graph = op.fgraph
        self.inner = list(self.graph.inputs)
        self.sequences, self.recurrences = [], []
        # For each input of the inner graph: ("sequence", number), or ("recurrence", number, tap).
        self.sources = []
        self._sequences()
        self.first_output = sum(len(out) for out in given.info.mit_mot_out_slices)
        self._mit_mots()
        self._sots()

    def _tail(self, buffer, start):
        return buffer[start : start + self.given.steps]

    def _sequence(self, variable):
        self.sequences.append((variable, [0]))
        self.sources.append(("sequence", len(self.sequences) - 1))

    def _sequences(self):
        for sequence in self.given.sequences:
            self._sequence(self._tail(sequence, 0))

    def _mit_mots(self):
        """Buffers that are read and written at several distances."""
        result = 0
        for buffer, taps_in, taps_out in zip(self.given.mit_mot, self.given.reads, self.given.writes):
            written = {}
            for at, tap in enumerate(taps_out):
                # What this result writes is read later at the distances for which it wrote last.
                lags = [tap - read for read in taps_in if read < tap == min(o for o in taps_out if o > read)]
                if lags:
                    initial = buffer[tap - max(lags) : tap]
                    lags = sorted(lags, reverse=True)
                    self.recurrences.append(_Recurrence(initial, [-lag for lag in lags], result + at))
                    written[tap] = len(self.recurrences) - 1
            for read in taps_in:
                later = [tap for tap in taps_out if tap > read]
                if later:
                    self.sources.append(("recurrence", written[min(later)], read - min(later)))
                else:
                    self._sequence(self._tail(buffer, read))
            result += len(taps_out)

    def _sots(self):
        """Values of iterations before, traced or not."""
        info, result = self.given.info, self.first_output
        for buffer, taps in zip(self.given.mit_sot, info.mit_sot_in_slices):
            self._recur(buffer[: -min(taps)], list(taps), result)
            result += 1
        for buffer in self.given.sit_sot:
            self._recur(buffer[:1], [-1], result)
            result += 1
        result += info.n_nit_sot
        for value in self.given.untraced:
            self._recur(wa.expand_dims(value, 0), [-1], result)
            result += 1

    def _recur(self, initial, taps, result):
        self.recurrences.append(_Recurrence(initial, taps, result))
        self.sources.extend(("recurrence", len(self.recurrences) - 1, tap) for tap in taps)

    def run(self):
        """Runs the loop; the stacked results of the inner graph, in its order."""
        carried = [recurrence.result for recurrence in self.recurrences]
        others = [at for at in range(len(self.graph.outputs)) if at not in carried]
        recurrences = [
            # One tap of 1 has no axis for its initial value.
            (_only(recurrence.initial) if recurrence.taps == [-1] else recurrence.initial, recurrence.taps)
            for recurrence in self.recurrences
        ]

        def body(*values):
            results = self._body(values)
            return [results[at] for at in carried] + [results[at] for at in others]

        steps = self.given.steps
        histories, stacked, _ = _scan(body, "Scan", self.sequences, recurrences, steps, False, None)
        return dict(zip([*carried, *others], [*histories, *stacked]))

    def _body(self, values):
        slices, taps, at = values[: len(self.sequences)], {}, len(self.sequences)
        for number, recurrence in enumerate(self.recurrences):
            for tap in recurrence.taps:
                taps[number, tap] = values[at]
                at += 1
        inputs = [slices[source[1]] if source[0] == "sequence" else taps[source[1:]] for source in self.sources]
        inputs = [as_declared(value, inner.type) for value, inner in zip([*inputs, *self.given.others], self.inner)]
        self.context.in_loop += 1
        try:
            return self.context.walk(self.graph, inputs)
        finally:
            self.context.in_loop -= 1


def _only(initial):
    return wa.squeeze(initial, axis=0) if initial.shape[0] == 1 else initial[0]


def _kept(history, buffer):
    """The last rows of a history, as many as its buffer has."""
    surplus = wa.extent(history, 0) - wa.extent(buffer, 0)
    return history[wa.maximum(surplus, 0) :]


@registered("scan.op:Scan")
def scan(op, node, inputs, context):
    """A loop with all its kinds of results."""
    given = _Arguments(op, inputs)
    if not all(isinstance(value, wa.Variable) for value in inputs):
        raise refused(op, node, "a random generator that goes through a Scan")
    body = _Body(op, node, given, context)
    results = body.run()
    stop = None
    if op.info.as_while:
        # All iterations run; those after the first whose condition held do not count.
        ended = results.pop(len(body.graph.outputs) - 1).astype("bool")
        stop = wa.where(wa.any(ended), wa.argmax(ended.astype("int8"), axis=0) + 1, wa.extent(ended, 0))
    return _outputs(given, body, results, stop)


def _outputs(given, body, results, stop):
    """The results in the order of PyTensor's."""
    info, outputs, at = given.info, [], 0
    counted = {key: value if stop is None else value[:stop] for key, value in results.items()}
    for buffer, taps in zip(given.mit_mot, given.writes):
        # Where two wrote the same row, the one with the smaller distance was the later.
        for tap, result in sorted(zip(taps, range(at, at + len(taps))), reverse=True):
            rows = counted[result]
            buffer = buffer.at[tap : tap + wa.extent(rows, 0)].set(rows)
        outputs.append(buffer)
        at += len(taps)
    for buffer, taps in zip(given.mit_sot, info.mit_sot_in_slices):
        outputs.append(_kept(wa.concatenate([buffer[: -min(taps)], counted[at]], axis=0), buffer))
        at += 1
    for buffer in given.sit_sot:
        outputs.append(_kept(wa.concatenate([buffer[:1], counted[at]], axis=0), buffer))
        at += 1
    for length in given.nit_sot:
        history = counted[at]
        outputs.append(history[wa.maximum(wa.extent(history, 0) - length, 0) :])
        at += 1
    for initial in given.untraced:
        # After no iteration at all it is the initial value.
        outputs.append(wa.concatenate([wa.expand_dims(initial, 0), counted[at]], axis=0)[-1])
        at += 1
    return outputs
