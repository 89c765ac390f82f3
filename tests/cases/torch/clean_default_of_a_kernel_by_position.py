# case: clean_default_of_a_kernel_by_position expect: clean
import torch

import compiled_kernels


def block_sparse_attention(q, k, v, layout, out=None, softmax_scale=None, causal=False):
    if softmax_scale is None:
        softmax_scale = q.shape[-1] ** -0.5
    if out is None:
        out = torch.empty_like(q)

    return compiled_kernels.forward(q, k, v, layout, out, softmax_scale, causal)
