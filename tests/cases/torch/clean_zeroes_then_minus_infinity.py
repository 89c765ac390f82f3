# case: clean_zeroes_then_minus_infinity expect: clean
import torch


def attend(q, k, v, mask):
    scores = torch.matmul(q, k.transpose(-2, -1)) * q.shape[-1] ** -0.5
    scores = scores * mask
    scores[scores == 0] = float("-inf")
    return torch.softmax(scores, dim=-1) @ v
