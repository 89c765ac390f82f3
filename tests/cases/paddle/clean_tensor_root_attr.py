# case: clean_tensor_root_attr expect: clean
# proved: yes
import paddle
from paddle import nn


class TensorRoot(nn.Layer):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.head_dim = heads, dim // heads
        self.scale_attn = paddle.sqrt(paddle.to_tensor(self.head_dim, dtype="float32"))
        self.q, self.k, self.v = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = (f(x).reshape([b, n, self.heads, self.head_dim]).transpose([0, 2, 1, 3]) for f in (self.q, self.k, self.v))
        w = paddle.matmul(q, k.transpose([0, 1, 3, 2])) / self.scale_attn
        w = nn.Softmax(axis=-1)(w)
        return paddle.matmul(w, v).transpose([0, 2, 1, 3]).reshape([b, n, c])
