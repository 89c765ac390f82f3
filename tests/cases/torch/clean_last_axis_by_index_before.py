# case: clean_last_axis_by_index_before expect: clean
import torch


def attend(q, k, v, hidden_mask):
    scores = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
    scores[..., hidden_mask] = torch.finfo(scores.dtype).min
    return torch.softmax(scores, dim=-1) @ v
