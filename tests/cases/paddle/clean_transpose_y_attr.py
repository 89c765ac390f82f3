# case: clean_transpose_y_attr expect: clean
# proved: yes
import paddle
import paddle.nn as nn
import paddle.nn.functional as F


class Rotating(nn.Layer):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        self.embed_dim, self.num_heads = embed_dim, num_heads
        self.head_dim = embed_dim // num_heads
        self.scale = self.head_dim**-0.5
        self.q_proj, self.k_proj, self.v_proj = nn.Linear(embed_dim, embed_dim), nn.Linear(embed_dim, embed_dim), nn.Linear(embed_dim, embed_dim)

    def forward(self, query, attn_mask=None):
        q = paddle.reshape(self.q_proj(query), shape=[0, 0, self.num_heads, self.head_dim])
        k = paddle.reshape(self.k_proj(query), shape=[0, 0, self.num_heads, self.head_dim])
        v = paddle.reshape(self.v_proj(query), shape=[0, 0, self.num_heads, self.head_dim])
        q, k, v = (paddle.transpose(x=t, perm=[0, 2, 1, 3]) for t in (q, k, v))
        product = paddle.matmul(x=q, y=k, transpose_y=True) * self.scale
        if attn_mask is not None:
            product = product + attn_mask
        out = paddle.matmul(F.softmax(product), v)
        out = paddle.transpose(out, perm=[0, 2, 1, 3])
        return paddle.reshape(x=out, shape=[0, 0, out.shape[2] * out.shape[3]])
