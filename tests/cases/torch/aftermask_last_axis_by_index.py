# case: aftermask_last_axis_by_index expect: mask-after-softmax line: 7
import torch


def attend(q, k, v, hidden_mask):
    weights = torch.softmax(q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5, dim=-1)
    weights[..., hidden_mask] = 0
    return weights @ v
