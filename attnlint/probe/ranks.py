"""Sites of all ranks of torch.distributed."""

from __future__ import annotations

import sys
from dataclasses import replace

from attnlint.probe.values import Site


def gather_sites(sites: list[Site]) -> dict[int, list[Site]] | None:
    """Each rank's sites by rank; None where there is one process alone."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.distributed.is_available() or not torch.distributed.is_initialized():
        return None
    world = torch.distributed.get_world_size()
    slots: list[list[Site] | None] = [None] * world
    torch.distributed.all_gather_object(slots, [replace(site, samples=None) for site in sites])
    return {rank: found or [] for rank, found in enumerate(slots)}
