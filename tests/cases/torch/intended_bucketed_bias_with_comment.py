# case: intended_bucketed_bias_with_comment expect: clean
# verdict: intended
import torch
from torch import nn


class BucketAttention(nn.Module):
    def __init__(self, d_model, d_kv, heads, buckets):
        super().__init__()
        self.d_kv, self.heads = d_kv, heads
        # the weights are drawn small enough that the scores need no division before softmax
        self.query = nn.Linear(d_model, heads * d_kv, bias=False)
        self.key = nn.Linear(d_model, heads * d_kv, bias=False)
        self.value = nn.Linear(d_model, heads * d_kv, bias=False)
        nn.init.normal_(self.query.weight, std=(d_model * d_kv) ** -0.5)
        self.relative_attention_bias = nn.Embedding(buckets, heads)

    def forward(self, x, bucket_index):
        b = x.shape[0]

        def project(states):
            return states.contiguous().view(b, -1, self.heads, self.d_kv).transpose(1, 2)

        q, k, v = project(self.query(x)), project(self.key(x)), project(self.value(x))
        scores = torch.matmul(q, k.transpose(3, 2))
        scores += self.relative_attention_bias(bucket_index).permute(2, 0, 1).unsqueeze(0)
        return torch.matmul(torch.softmax(scores, dim=-1), v).transpose(1, 2).flatten(2)
