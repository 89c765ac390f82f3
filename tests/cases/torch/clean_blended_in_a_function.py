# case: clean_blended_in_a_function expect: clean
import torch


def attend(q, k, v, mask):
    scores = torch.matmul(q, k.transpose(-2, -1)) * q.shape[-1] ** -0.5
    scores = scores * mask + (1.0 - mask) * -1e4
    return torch.softmax(scores, dim=-1) @ v
