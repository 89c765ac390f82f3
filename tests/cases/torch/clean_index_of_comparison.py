# case: clean_index_of_comparison expect: clean
import torch


def attend(q, k, v, mask):
    scores = torch.matmul(q, k.transpose(-2, -1)) * q.shape[-1] ** -0.5
    scores[mask == 0] = -torch.inf
    return torch.softmax(scores, dim=-1) @ v
