# case: inverted_default_of_a_foreign_kernel expect: inverted-scale line: 9
import math

import vendor_ops


def attend(q, k, v, softmax_scale=None):
    if softmax_scale is None:
        softmax_scale = math.sqrt(q.shape[-1])
    return vendor_ops.flash_attention_forward(q, k, v, softmax_scale=softmax_scale)
