"""The onnx package's own node tests for Attention; their expanded graphs are other operators.

They are weak on numerics (a tolerance of 1e-3), strong on what each mask and output means.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from mechanism.onnx_adapter import attend

pytest.importorskip("onnx")


def cases():
    """Each node test: its name, opset, node, inputs and outputs by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package divides by zero while it makes other tests
        from onnx.backend.test.case.node import collect_testcases

        collected = collect_testcases("Attention")
    return [
        (case, case.model.opset_import[0].version)
        for case in collected
        if not case.name.endswith("_expanded")
    ]


CASES = cases()


def named(names, arrays):
    return dict(zip([name for name in names if name], arrays, strict=True))


def test_there_are_as_many_cases_as_when_this_was_written():
    """A newer onnx may add some; then see that the adapter covers them, and count anew."""
    versions = [version for _, version in CASES]
    assert len(versions) == 93
    assert {version: versions.count(version) for version in versions} == {23: 69, 24: 13, 25: 11}


@pytest.mark.parametrize(("case", "version"), CASES, ids=[case.name for case, _ in CASES])
def test_onnx(case, version):
    (node,) = case.model.graph.node
    assert node.op_type == "Attention"
    ((given, wanted),) = case.data_sets
    inputs, wanted = named(node.input, given), named(node.output, wanted)
    kind = inputs["Q"].dtype
    # NumPy has no bfloat16: those are computed in float32, and compared at their own precision
    dtype = kind if kind.name in ("float16", "float32", "float64") else np.float32
    found = attend(node, inputs, dtype)
    eps = 2.0**-7 if kind.name == "bfloat16" else 0.0
    for name, expected in wanted.items():
        ours = found[name]
        assert ours.shape == expected.shape
        np.testing.assert_allclose(
            ours.astype(np.float64),
            expected.astype(np.float64),
            rtol=max(case.rtol, eps),
            atol=max(case.atol, eps),
            err_msg=f"{name}, opset {version}",
        )
        if name == "Y" and kind == dtype:
            assert ours.dtype == kind
