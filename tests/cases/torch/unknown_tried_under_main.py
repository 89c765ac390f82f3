# case: unknown_tried_under_main expect: clean
import torch


def window_attention(q, k, v, window):
    """q, k, v: (batch * heads, time, head_dim). The query comes scaled."""
    logits = torch.bmm(q, k.transpose(1, 2))
    far = torch.ones_like(logits).triu(window)
    return torch.bmm(torch.softmax(logits.masked_fill(far.bool(), float("-inf")), dim=-1), v)


if __name__ == "__main__":
    q, k, v = torch.rand(48, 510, 64), torch.rand(48, 510, 64), torch.rand(48, 510, 64)
    print(window_attention(q, k, v, 64).shape)
