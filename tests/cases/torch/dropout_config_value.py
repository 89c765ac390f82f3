# case: dropout_config_value expect: sdpa-dropout-in-eval line: 15
import torch.nn.functional as F
from torch import nn


class Configured(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.n_head, self.attn_pdrop = config.n_head, config.attn_pdrop
        self.qkv = nn.Linear(config.width, 3 * config.width)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.n_head, c // self.n_head).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=self.attn_pdrop, is_causal=True)
        return y.transpose(1, 2).reshape(b, n, c)
