# case: clean_scale_function expect: clean
# proved: yes
import paddle
import paddle.nn as nn
import paddle.nn.functional as F


class Functional(nn.Layer):
    def __init__(self, d_model, n_head):
        super().__init__()
        self.n_head, self.d_key = n_head, d_model // n_head
        self.qkv = nn.Linear(d_model, 3 * d_model)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).reshape([b, n, 3, self.n_head, self.d_key]).transpose([2, 0, 3, 1, 4]).unbind(0)
        q = paddle.scale(x=q, scale=self.d_key**-0.5)
        w = F.softmax(paddle.matmul(x=q, y=k, transpose_y=True), axis=-1)
        return paddle.matmul(w, v).transpose([0, 2, 1, 3]).reshape([b, n, c])
