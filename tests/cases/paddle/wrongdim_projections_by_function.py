# case: wrongdim_projections_by_function expect: wrong-dim-scale line: 14
import math

import paddle
import paddle.nn.functional as F


def attend(query, key, value, w_q, w_k, w_v, b_q, b_k, b_v, heads):
    t, b, width = query.shape
    size = width // heads
    q = F.linear(query, w_q, b_q).reshape([t, b * heads, size]).transpose([1, 0, 2])
    k = F.linear(key, w_k, b_k).reshape([-1, b * heads, size]).transpose([1, 0, 2])
    v = F.linear(value, w_v, b_v).reshape([-1, b * heads, size]).transpose([1, 0, 2])
    weights = F.softmax(paddle.bmm(q / math.sqrt(width), k.transpose([0, 2, 1])), axis=-1)
    return paddle.bmm(weights, v)
