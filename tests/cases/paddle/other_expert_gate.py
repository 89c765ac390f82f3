# case: other_expert_gate expect: clean
import paddle
import paddle.nn as nn
import paddle.nn.functional as F


class Gate(nn.Layer):
    def __init__(self, dim, experts, k):
        super().__init__()
        self.k = k
        self.weight = self.create_parameter([dim, experts])

    def forward(self, x):
        p = F.softmax(paddle.matmul(x, self.weight), axis=-1)
        return paddle.topk(p, self.k, axis=-1)
