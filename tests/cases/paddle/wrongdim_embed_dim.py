# case: wrongdim_embed_dim expect: wrong-dim-scale line: 11 alt: 17
import paddle
import paddle.nn as nn
import paddle.nn.functional as F


class OfEmbedding(nn.Layer):
    def __init__(self, embed_dim, heads):
        super().__init__()
        self.heads = heads
        self.scale = embed_dim**-0.5
        self.qkv = nn.Linear(embed_dim, 3 * embed_dim)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).reshape([b, n, 3, self.heads, c // self.heads]).transpose([2, 0, 3, 1, 4]).unbind(0)
        s = paddle.matmul(q, k, transpose_y=True) * self.scale
        return paddle.matmul(F.softmax(s, axis=-1), v).transpose([0, 2, 1, 3]).reshape([b, n, c])
