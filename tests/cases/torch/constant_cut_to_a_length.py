# case: constant_cut_to_a_length expect: constant-scale line: 23 alt: 17
import torch
from flash_attn import flash_attn_func


class PaddedAttention:
    """Query and key are padded along the sequence, which is cut to its length."""

    def __init__(self, softmax_scale):
        self.softmax_scale = softmax_scale

    def __call__(self, query, key, value, length):
        q = query[:, :length]
        k = key[:, :length]
        v = value[:, :length]
        scale = self.softmax_scale
        return flash_attn_func(q, k, v, softmax_scale=scale)


def test_shape():
    q = torch.randn(1, 4, 1, 32)
    k, v = torch.randn(1, 4, 1, 32), torch.randn(1, 4, 1, 32)
    attend = PaddedAttention(softmax_scale=128**-0.5)
    assert attend(q, k, v, 2).shape[1] == 2
