# case: multmask_where_of_its_own_zero expect: multiplicative-mask line: 7
import torch


def attend(q, k, v, mask):
    scores = torch.matmul(q, k.transpose(-2, -1)) * q.shape[-1] ** -0.5
    scores = torch.where(mask == 0, -1e9 * mask, scores)
    return torch.softmax(scores, dim=-1) @ v
