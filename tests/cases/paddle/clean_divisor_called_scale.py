# case: clean_divisor_called_scale expect: clean
# proved: yes
import math

import paddle
from paddle import nn


class Encoder(nn.Layer):
    def __init__(self, config):
        super().__init__()
        self.num_attention_heads = config.num_attention_heads
        self.attention_head_size = int(config.hidden_size / config.num_attention_heads)
        self.all_head_size = self.num_attention_heads * self.attention_head_size
        self.scale = math.sqrt(self.attention_head_size)
        self.query, self.key, self.value = (nn.Linear(config.hidden_size, self.all_head_size) for _ in range(3))

    def transpose_for_scores(self, x):
        x = x.reshape(x.shape[:-1] + [self.num_attention_heads, self.attention_head_size])
        return x.transpose([0, 2, 1, 3])

    def forward(self, hidden):
        q, k, v = (self.transpose_for_scores(f(hidden)) for f in (self.query, self.key, self.value))
        scores = paddle.matmul(q, k, transpose_y=True)
        scores = scores / self.scale
        probs = nn.functional.softmax(scores, axis=-1)
        return paddle.matmul(probs, v).transpose([0, 2, 1, 3]).reshape(hidden.shape[:-1] + [self.all_head_size])
