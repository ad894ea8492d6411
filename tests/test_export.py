"""Exported programs give what the network gives, also after a round trip through a file."""

from pathlib import Path

import numpy as np
import pytest
import torch
from problem import graphs

import ccn
from ccn.errors import ConfigurationError
from ccn.export import export_head, export_network, write_onnx

pytestmark = pytest.mark.filterwarnings("ignore")  # torch.export's own


def test_the_head_for_any_number_of_graphs(tmp_path: Path) -> None:
    net = ccn.CCN(3, 2, channels=4, norm="batch").eval()
    torch.export.save(export_head(net), tmp_path / "head.pt2")
    program = torch.export.load(tmp_path / "head.pt2").module()
    for count in (2, 7):
        pack = graphs(count)
        torch.testing.assert_close(program(net.embed(pack)), net(pack))


def test_the_head_with_features_of_graphs_as_a_whole() -> None:
    net = ccn.CCN(3, 2, channels=4, graph_features=5).eval()
    pack = graphs(4).with_graph_features(np.random.default_rng(0).normal(size=(4, 5)))
    whole = pack.batch().graph_features
    assert whole is not None
    torch.testing.assert_close(export_head(net).module()(torch.cat([net.embed(pack), whole], dim=1)), net(pack))


@pytest.mark.slow
def test_the_network_for_one_structure() -> None:
    net = ccn.CCN(3, 1, channels=4)
    pack = graphs(3)
    program = export_network(net, pack).module()
    assert net.training
    other = torch.randn_like(pack.batch().features)
    expected = net.eval()(pack.with_features(other.numpy()))
    torch.testing.assert_close(program(other), expected)


@pytest.mark.slow
def test_both_as_onnx(tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    net = ccn.CCN(3, 2, channels=4, norm="batch", own=True).eval()
    pack = graphs(3)
    b = pack.batch()
    for name, program, given in (
        ("head.onnx", export_head(net), net.embed(graphs(7)).detach()),
        ("net.onnx", export_network(net, b), torch.randn_like(b.features)),
    ):
        session = onnxruntime.InferenceSession(write_onnx(program, tmp_path / name))
        (found,) = session.run(None, {session.get_inputs()[0].name: given.numpy()})
        expected = net.head(given) if name == "head.onnx" else net(pack.with_features(given.numpy()))
        torch.testing.assert_close(torch.from_numpy(found), expected, rtol=1e-4, atol=1e-5)
    assert not net.training
    net(b)  # the batch that was given is as it was


@pytest.mark.slow
def test_an_onnx_file_that_differs_leaves_the_older_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    program = export_head(ccn.CCN(3, 2, channels=4).eval())
    (tmp_path / "head.onnx").write_text("older")
    monkeypatch.setattr(torch, "allclose", lambda *words, **how: False)
    with pytest.raises(ConfigurationError, match="differs"):
        write_onnx(program, tmp_path / "head.onnx")
    assert (tmp_path / "head.onnx").read_text() == "older"


def test_what_cannot_be_followed_is_said() -> None:
    def strange(x: torch.Tensor) -> torch.Tensor:
        return x * float(x.sum().item() > 0 and x[0, 0].item() > 0)

    with pytest.raises(ConfigurationError, match=r"torch\.export cannot follow"):
        export_network(ccn.CCN(3, 1, channels=4, nonlinearity=strange), graphs(2))
