# case: intended_kernel_tried_with_a_number expect: clean
# verdict: intended
"""A demonstration hands a kernel random arrays and any number for its scale."""

import torch
from flash_attn import flash_attn_func

q, k, v = torch.randn(2, 128, 8, 64), torch.randn(2, 128, 8, 64), torch.randn(2, 128, 8, 64)
softmax_scale = 0.1
print(flash_attn_func(q, k, v, 0.0, softmax_scale))
