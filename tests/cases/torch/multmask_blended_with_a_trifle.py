# case: multmask_blended_with_a_trifle expect: multiplicative-mask line: 7
import torch


def attend(q, k, v, mask):
    scores = torch.matmul(q, k.transpose(-2, -1)) * q.shape[-1] ** -0.5
    scores = scores * mask - 1e-6 * (1 - mask)
    return torch.softmax(scores, dim=-1) @ v
