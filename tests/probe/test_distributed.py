"""Two gloo ranks: DDP and FSDP2 compute the same bits with the probe, each rank measures, and the report is gathered."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
if not torch.distributed.is_available():
    pytest.skip("torch.distributed is not available", allow_module_level=True)


def work(rank: int, world: int, store: str, kind: str) -> None:
    import torch.distributed as dist

    sys.path.insert(0, str(Path(__file__).parent))
    import zoo

    from attnlint import probe

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
    try:
        torch.manual_seed(0)
        model = torch.nn.Sequential(zoo.Plain(), zoo.WholeWidth())
        if kind == "ddp":
            model = torch.nn.parallel.DistributedDataParallel(model)
        else:
            from torch.distributed.fsdp import fully_shard

            mesh = dist.device_mesh.init_device_mesh("cpu", (world,))
            for block in model:
                fully_shard(block, mesh=mesh)
            fully_shard(model, mesh=mesh)
        torch.manual_seed(rank)
        x = torch.randn(zoo.B, zoo.T, zoo.C)
        plain = model(x)
        plain.sum().backward()
        with probe.watch(model) as report:
            seen = model(x)
            seen.sum().backward()
        assert torch.equal(plain, seen), "the probe changed the forward"
        assert report.internal_errors == []
        assert [s.status for s in report.sites] == ["ok", "fault"], str(report)
        assert [s.calls for s in report.sites] == [1, 1]
        together = report.gather()
        assert [s.calls for s in together.sites] == [world, world] and sorted(together.ranks) == list(range(world))
        assert together.sites[1].kind == "wrong-dim-scale" and together.sites[1].faults == world
        dist.barrier()  # neither rank leaves while the other may still talk to it
    finally:
        dist.destroy_process_group()
    os._exit(0)  # all is asserted; gloo's threads need not outlive the interpreter's end, which aborts where they do


@pytest.mark.parametrize("kind", ["ddp", "fsdp"])
def test_two_ranks(kind, tmp_path):
    torch.multiprocessing.spawn(work, args=(2, str(tmp_path / "store"), kind), nprocs=2)


def test_alone_the_report_is_itself():
    from attnlint import probe

    with probe.watch() as report:
        x = torch.randn(2, 7, 12)
        torch.softmax(x @ x.mT / 12**0.5, -1) @ x
    assert report.gather() is report
