# case: clean_where_of_its_own_one expect: clean
import torch


def attend(q, k, v, mask):
    scores = torch.matmul(q, k.transpose(-2, -1)) * q.shape[-1] ** -0.5
    scores = torch.where(mask == 1, -1e9 * mask, scores)
    return torch.softmax(scores, dim=-1) @ v
