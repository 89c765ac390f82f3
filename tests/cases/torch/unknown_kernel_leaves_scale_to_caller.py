# case: unknown_kernel_leaves_scale_to_caller expect: clean
import torch


def reference(q, k, v, lengths, mask_value=-1e30):
    """q: (batch, heads, dim), already scaled by the caller; k, v: (batch, kv heads, time, dim)."""
    b, heads, d = q.shape
    groups = k.shape[1]
    q = q.reshape(b, groups, heads // groups, d)
    logits = torch.einsum("bkgd,bksd->bkgs", q.float(), k.float())
    seen = torch.arange(k.shape[2])[None] < lengths[:, None]
    logits = logits + torch.where(seen, 0.0, mask_value)[:, None, None, :]
    weights = torch.softmax(logits, dim=-1)
    return torch.einsum("bkgs,bksd->bkgd", weights, v.float()).reshape(b, heads, d)
