# case: unknown_cut_of_a_quantised_query expect: clean
# verdict: unknown
import torch
from flash_attn import flash_attn_func
from fp4_kernels import quantize


class QuantisedAttention:
    """Query and key come back padded along the sequence, which is cut to its length."""

    def __init__(self, softmax_scale):
        self.softmax_scale = softmax_scale

    def __call__(self, query, key, value):
        query_length, key_length = query.shape[1], key.shape[1]
        q, _ = quantize(query)
        k, _ = quantize(key)
        q = q[:, :query_length]
        k = k[:, :key_length]
        return flash_attn_func(q, k, value, softmax_scale=self.softmax_scale)


def test_shape():
    attend = QuantisedAttention(softmax_scale=128**-0.5)
    q = torch.zeros(1, 4, 1, 128)
    assert attend(q, q, q).shape == q.shape
